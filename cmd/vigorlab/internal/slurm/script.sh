#!/bin/bash
# One task of a sweep. Another scheduler than Slurm sets another variable for the
# task's number: put it in the place of SLURM_ARRAY_TASK_ID.
{{- range .Arguments}}
#SBATCH {{.}}
{{- end}}
{{- range .Setup}}
{{.}}
{{- end}}
exec {{.Line}} "$((SLURM_ARRAY_TASK_ID + ${1:-0}))"
