package transcript

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// finish completes the report.
func (r *Recorder) finish() {
	rep := r.Report
	if r.Steps.N > 0 {
		rep.Steps = r.Steps.N
	}
	late := r.prove()
	if n := len(rep.Events); r.overflow && n > keptAnyway {
		rep.Events = slices.Clone(rep.Events[:keptAnyway]) // for the reader of the report; it is not a measurement
	}
	r.fold(late)
	if rep.FinalOutput = r.Final; !r.HasFinal {
		rep.FinalOutput = r.Answer
	}
	if strings.HasSuffix(rep.FinalOutput, cutMark) {
		r.incomplete("finalOutput")
	}
	if rep.Prompt == "" {
		if i := slices.IndexFunc(rep.Events, func(e plumb.SessionEvent) bool {
			return e.Type == plumb.SessionMessage && e.Role == RoleUser && e.Subagent == ""
		}); i >= 0 {
			rep.Prompt = rep.Events[i].Text
		}
	}
	rep.Usage.InputChars, rep.Usage.OutputChars = chars(rep.Prompt), chars(rep.FinalOutput)
	rep.Usage.Total()
	SetFirst(&rep.RawArtifacts.SessionPath, r.Session)
	for i := range rep.Events {
		e := &rep.Events[i]
		if e.At != nil && (rep.StartedAt == nil || e.At.Before(*rep.StartedAt)) {
			rep.StartedAt = e.At
		}
		if e.At != nil && (rep.EndedAt == nil || e.At.After(*rep.EndedAt)) {
			rep.EndedAt = e.At
		}
	}
	if rep.StartedAt != nil && rep.DurationMs == 0 {
		rep.DurationMs = rep.EndedAt.Sub(*rep.StartedAt).Milliseconds()
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Unknown)) {
		if n := r.Unknown[kind]; kind == "" {
			r.Note(fmt.Sprintf("lines that are not JSON objects: %d; the first is %q", n, r.firstStray))
		} else {
			r.Note(fmt.Sprintf("records of an unknown type %q: %d", kind, n))
		}
	}
	if r.overflow {
		f := plumb.Failuref(plumb.OriginNormalization, "the session is too long for a report: it has more than %d "+
			"events, or %d MiB of commands and paths; the report has the first %d events",
			maxEvents, maxNames>>20, len(rep.Events))
		f.Hint = "limit the session with maxSteps or a time limit"
		r.Ended, r.Failure = true, f
	}
}

// fold derives the lists of files and skills from the events. late are the files that were read
// after fullEvents.
func (r *Recorder) fold(late []string) {
	rep := r.Report
	rep.Files = plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}}
	rep.DetectedSkills = []plumb.SkillDetection{}
	read, changed, skills := map[string]bool{}, map[string]int{}, map[string]int{}
	detect := func(name, confidence, evidence string) {
		i, ok := skills[name]
		if !ok {
			i = len(rep.DetectedSkills)
			skills[name] = i
			rep.DetectedSkills = append(rep.DetectedSkills, plumb.SkillDetection{Skill: name, Confidence: confidence})
		}
		d := &rep.DetectedSkills[i]
		if confidence == "explicit" {
			d.Confidence = confidence
		}
		if !slices.Contains(d.Evidence, evidence) {
			d.Evidence = append(d.Evidence, evidence)
		}
	}
	reads := func(path string) {
		if read[path] {
			return
		}
		read[path] = true
		rep.Files.ObservedReads = append(rep.Files.ObservedReads, path)
		if BaseName(path) == "SKILL.md" {
			rep.Files.ObservedSkillReads = append(rep.Files.ObservedSkillReads, path)
		}
		if name := skillOf(path); name != "" {
			detect(name, "strong", "Read "+path)
		}
	}
	for i := range rep.Events {
		switch e := &rep.Events[i]; e.Type {
		case plumb.SessionFileRead:
			reads(e.Path)
		case plumb.SessionFileChange:
			if i, ok := changed[e.Path]; ok {
				rep.Files.Changed[i].Kind = changeAfter(rep.Files.Changed[i].Kind, e.Change)
			} else {
				changed[e.Path] = len(rep.Files.Changed)
				rep.Files.Changed = append(rep.Files.Changed, plumb.FileChange{Path: e.Path, Kind: e.Change})
			}
		default:
		}
	}
	for _, path := range late {
		reads(path)
	}
	for i := range rep.Events {
		if e := &rep.Events[i]; e.Type == plumb.SessionSkill {
			detect(e.Skill, "explicit", r.SkillEvidence)
		}
	}
}

// changeAfter returns the joint effect of two successive changes of one file.
func changeAfter(first, then string) string {
	switch {
	case first == ChangeAdd && then == ChangeUpdate:
		return ChangeAdd
	case first == ChangeDelete && then == ChangeAdd:
		return ChangeUpdate
	default:
		return then
	}
}
