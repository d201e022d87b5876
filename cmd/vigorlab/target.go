package main

import (
	"io/fs"
	"os"
	"path/filepath"
)

// target follows the file of a flag to the one that will be written or
// replaced: a link stays a link. What is no regular file is never replaced.
func (c *common) target(flag, path string) string {
	if _, err := os.Lstat(path); err != nil {
		return path // nothing is there, or writing will say why nobody knows
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		c.add(flag, err)
		c.hint("name another file")
		return path
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		c.add(flag, err)
	case !info.Mode().IsRegular():
		c.addf("%s %s is %s, want a file", flag, path, kind(info.Mode()))
	case !c.force:
		c.addf("%s %s exists", flag, path)
		c.hint("name another file, or replace this one with --force")
	default:
		return target
	}
	return path
}

// kind says in words what is no regular file.
func kind(m fs.FileMode) string {
	if m.IsDir() {
		return "a directory"
	}
	return "a device, pipe or socket"
}
