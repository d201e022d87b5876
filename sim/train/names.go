package train

// PolicyNames lists the policies that NewPolicy knows.
func PolicyNames() []string { return policyNames() }

// SystemNames lists the systems that NewSystem knows.
func SystemNames() []string { return systemNames() }
