package prompts

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// A Template makes what is sent of a prompt's text.
type Template struct{ t *template.Template }

// ParseTemplate reads a template of text/template with {{.Prompt}} in it; it
// knows nothing else of a prompt, least of all the answer. It may neither loop nor
// call templates, so that it ends. name stands for the file in messages.
func ParseTemplate(name, text string) (*Template, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	if t.Tree == nil {
		return nil, fmt.Errorf("%s: {{.Prompt}} is missing, want it where the prompt goes", name)
	}
	if err := ends(t.Root); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	made := &Template{t}
	const mark = "\x00prompt\x00" // no text has it
	out, err := made.Apply(mark)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(out, mark) {
		return nil, fmt.Errorf("%s: {{.Prompt}} is missing, want it where the prompt goes", name)
	}
	return made, nil
}

// ends says why a part of a template may never end.
func ends(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil { // no else
			return nil
		}
		for _, part := range n.Nodes {
			if err := ends(part); err != nil {
				return err
			}
		}
	case *parse.IfNode:
		return errors.Join(ends(n.List), ends(n.ElseList))
	case *parse.WithNode:
		return errors.Join(ends(n.List), ends(n.ElseList))
	case *parse.RangeNode, *parse.TemplateNode:
		return fmt.Errorf("%.40q, want no range and no template: a prompt has nothing to repeat", n)
	}
	return nil
}

// Apply returns what is sent of a prompt; a nil template leaves it as it is.
func (t *Template) Apply(prompt string) (string, error) {
	if t == nil {
		return prompt, nil
	}
	var out strings.Builder
	if err := t.t.Execute(&out, struct{ Prompt string }{prompt}); err != nil {
		return "", err
	}
	return out.String(), nil
}
