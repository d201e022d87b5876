package prompts

import (
	"fmt"
	"strings"
	"text/template"
)

// A Template makes what is sent of a prompt's text.
type Template struct{ t *template.Template }

// ParseTemplate reads a template of text/template with {{.Prompt}} in it; it
// knows nothing else of a prompt, least of all the answer. name stands for the
// file in messages.
func ParseTemplate(name, text string) (*Template, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
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
