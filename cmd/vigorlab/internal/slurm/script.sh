#!/bin/sh
# One task of a sweep. Another scheduler than Slurm sets another variable for the
# task's number: put it in the place of SLURM_ARRAY_TASK_ID.
{{- with .Account}}
#SBATCH --account={{.}}
{{- end}}
{{- with .Partition}}
#SBATCH --partition={{.}}
{{- end}}
{{- with .Time}}
#SBATCH --time={{.}}
{{- end}}
{{- with .Memory}}
#SBATCH --mem={{.}}
{{- end}}
{{- with .CPUs}}
#SBATCH --cpus-per-task={{.}}
{{- end}}
#SBATCH --ntasks=1
#SBATCH --requeue
#SBATCH --open-mode=append
{{- range .Setup}}
{{.}}
{{- end}}
exec {{.Line}} "$((SLURM_ARRAY_TASK_ID + ${1:-0}))"
