package verify

// Validate reports names in Only that nothing on the ladder has, before
// anything runs.
func (c *Config) Validate() error {
	_, err := choose(ladder(c), c.Only)
	return err
}
