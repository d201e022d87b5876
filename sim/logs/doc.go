// Package logs holds trainers' rollout logs read into canonical tables, and the
// one table of what goes wrong in such logs. It refuses fitting, and it never
// runs code that a log brings along.
//
// A log is read in four layers. A container (JSON lines, JSON documents, CSV,
// Parquet, a text dump, a pickle) becomes records, which are JSON objects. A
// format, recognised by the keys of its records, says where a record has its
// prompt, its step and its reward. The tally gathers rollouts into groups and
// everything that looked odd into evidence. The defects then judge that
// evidence: each notes, warns or refuses. What would bias the answer if it were
// guessed wrongly is refused, and the refusal says how to decide it.
package logs
