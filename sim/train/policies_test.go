package train

import (
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
)

// TestPolicies: what is said of the policies is what their specs read, name for
// name and default for default.
func TestPolicies(t *testing.T) {
	law, err := distributions.NewPoint(0.5)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	infos := Policies()
	if len(infos) != len(policyKinds) {
		t.Fatalf("%d policies are listed, %d known", len(infos), len(policyKinds))
	}
	for i, info := range infos {
		if info.Name != policyKinds[i].name || info.Doc == "" || info.Source == "" {
			t.Errorf("%+v, want %s, with what it is", info, policyKinds[i].name)
		}
		given := spec.Spec{Name: info.Name}
		want := map[string]string{}
		for _, p := range info.Parameters {
			want[p.Name] = p.Default
			if p.Default == "" {
				want[p.Name] = "0.5"
				given.Params = append(given.Params, spec.Param{Key: p.Name, Value: "0.5"})
			}
			if p.Doc == "" || p.Range == "" {
				t.Errorf("%s: %+v", info.Name, p)
			}
		}
		p, err := NewPolicy(given.String(), law, 2, cfg.StartKey())
		if err != nil {
			t.Fatal(err)
		}
		read, err := spec.Parse(p.Spec())
		if err != nil || len(read.Params) != len(want) {
			t.Errorf("%s reads %s, want %v", info.Name, p.Spec(), want)
		}
		for _, p := range read.Params {
			if w, known := want[p.Key]; !known || w != p.Value {
				t.Errorf("%s reads %s=%s, want %q, listed %v", info.Name, p.Key, p.Value, w, known)
			}
		}
	}
}
