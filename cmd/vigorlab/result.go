package main

import (
	"bytes"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

// version is the version of vigorlab.
const version = "0.1.0"

// header returns what opens a command's JSON document.
func header(command string) output.Header {
	return output.Header{Schema: output.Schema, Version: version, Command: command, Coding: output.Signed}
}

// A result is what a command found, in each of its formats. R is a struct
// with parquet tags, one a row.
type result[R any] struct {
	document any
	rows     []R
	text     func(*output.Text)
}

// print writes the result to stdout.
func (r result[R]) print(a *app, format string) error {
	var content []byte
	var err error
	switch format {
	case formatJSON:
		content, err = output.JSON(r.document)
	case formatCSV:
		content, err = r.csv()
	default:
		t := &output.Text{Colour: a.colour}
		r.text(t)
		content = t.Bytes()
	}
	if err != nil {
		return err
	}
	return write(a.stdout, content)
}

// save writes results.json, results.csv and results.parquet.
func (r result[R]) save(d *rundir.Dir) error {
	document, err := output.JSON(r.document)
	if err != nil {
		return err
	}
	rows, err := r.csv()
	if err != nil {
		return err
	}
	var columns bytes.Buffer
	if err := output.Parquet(&columns, r.rows); err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"results.json", document},
		{"results.csv", rows},
		{"results.parquet", columns.Bytes()},
	} {
		if err := d.Write(file.name, file.content); err != nil {
			return err
		}
	}
	return nil
}

func (r result[R]) csv() ([]byte, error) {
	var b bytes.Buffer
	err := output.CSV(&b, r.rows)
	return b.Bytes(), err
}
