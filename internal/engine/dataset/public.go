package dataset

import (
	"fmt"
	"slices"
	"strings"

	"aiperfd/internal/engine/dataset/agentic"
	"aiperfd/internal/engine/dataset/format"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/hub"
	"aiperfd/internal/engine/suggest"
)

// PublicSet is one row of the table of public datasets.
type PublicSet struct {
	Name    string
	Repo    string // on the Hugging Face hub; empty = it is not there
	File    string // the only file of the repository that is used; empty = those of the split
	Subset  string // empty = the only one
	Split   string
	Doc     string        // what is used of it
	Read    source.Format // how its records are read
	Agentic bool          // its records are sessions of agents, in lines of JSON
	Local   string        // address from which the user downloads a set that is not on the hub
	Doubt   string        // what a result should say of the name; empty = nothing
	Not     string        // the reason why the set is refused; empty = it is not
}

// prefix begins the name of any other dataset on the hub: hf:ORG/NAME, and wekaPrefix that of any other corpus of
// sessions of agents.
const (
	prefix     = "hf:"
	wekaPrefix = "weka:"
)

// question reads the prompt from a column.
func question(column string) format.Table {
	return format.Table{Columns: source.Columns{Prompt: []string{column}}, Skip: true}
}

// picture reads the prompt and the first image of a row.
func picture(prompt, image string) format.Table {
	return format.Table{Columns: source.Columns{Prompt: []string{prompt}, Image: []string{image}}, First: true, Skip: true}
}

// speech reads the audio of a row. AIPerf leaves out clips of more than 30 s too.
func speech() format.Table {
	return format.Table{Audio: "audio", Fixed: "Transcribe this audio.", Skip: true, Seconds: 30}
}

// edit reads the code and the change of a row. The words are those of vLLM's Blazedit
// benchmark, so that lengths agree.
func edit() format.Table {
	t := question("change_request")
	t.Template = "Given a code file, please apply the change requests and generate the new file.\n\nOriginal file:\n```python\n{code}\n```\n\n" +
		"Change request:\n{change_request}\n\nPlease generate the new code file in the \"New file\" section below."
	return t
}

// publicSets lists the named sets in the order of the documentation.
func publicSets() []PublicSet {
	first := question("turns")
	first.First = true
	row := func(name, repo, subset, split, doc string, t format.Table) PublicSet {
		return PublicSet{Name: name, Repo: repo, Subset: subset, Split: split, Doc: doc, Read: t.Format(name)}
	}
	sets := []PublicSet{
		{
			Name: "sharegpt", Repo: "anon8231489123/ShareGPT_Vicuna_unfiltered", File: "ShareGPT_V3_unfiltered_cleaned_split.json",
			Doc: "The turns of the human, as in the format `sharegpt`; needs a tokenizer.", Read: shareGPT(),
		},
		row("aimo", "AI-MO/NuminaMath-TIR", "", "train", "`problem`.", question("problem")),
		row("aimo_aime", "AI-MO/aimo-validation-aime", "", "train", "`problem`.", question("problem")),
		row("aimo_numina_cot", "AI-MO/NuminaMath-CoT", "", "train", "`problem`.", question("problem")),
		row("aimo_numina_1_5", "AI-MO/NuminaMath-1.5", "", "train", "`problem`.", question("problem")),
		{
			Name: "spec_bench", Doc: "The first of `turns`.", Read: first.Format("spec_bench"),
			Local: "https://raw.githubusercontent.com/hemingkx/Spec-Bench/fd2c1cd7d2201ef71db4c5f4e455008f017967bf/data/spec_bench/question.jsonl",
		},
		row("spec_al_gsm8k", "openai/gsm8k", "main", "test", "`question`.", question("question")),
		row("spec_al_math500", "HuggingFaceH4/MATH-500", "", "test", "`problem`.", question("problem")),
		row("spec_al_humaneval", "openai/openai_humaneval", "", "test", "`prompt`.", question("prompt")),
		row("spec_al_mbpp", "google-research-datasets/mbpp", "full", "test", "`text`.", question("text")),
		row("spec_al_mtbench", "HuggingFaceH4/mt_bench_prompts", "", "train", "`prompt`, a list of turns.", question("prompt")),
		row("instruct_coder", "likaixin/InstructCoder", "", "train", "`instruction`.", question("instruction")),
		row("blazedit_5k", "vdaita/edit_5k_char", "", "train", "`code` and `change_request` in a fixed text.", edit()),
		row("blazedit_10k", "vdaita/edit_10k_char", "", "train", "`code` and `change_request` in a fixed text.", edit()),
		row("mmstar", "Lin-Chen/MMStar", "", "val", "`question` and `image`.", picture("question", "image")),
		row("vision_arena", "lmarena-ai/VisionArena-Chat", "", "train", "The first message of the user in `conversation`, the first of `images`.", picture("conversation", "images")),
		row("llava_onevision", "lmms-lab/LLaVA-OneVision-Data", "sharegpt4o", "train", "The first message of the user in `conversations`, and `image`.", picture("conversations", "image")),
		row("librispeech", "openslr/librispeech_asr", "clean", "test", "`audio` and a request to transcribe it.", speech()),
		row("voxpopuli", "facebook/voxpopuli", "en", "test", "`audio` and a request to transcribe it.", speech()),
		row("gigaspeech", "speechcolab/gigaspeech", "xs", "test", "`audio` and a request to transcribe it.", speech()),
		row("ami", "edinburghcstr/ami", "ihm", "test", "`audio` and a request to transcribe it.", speech()),
		row("spgispeech", "kensho/spgispeech", "test", "test", "`audio` and a request to transcribe it.", speech()),
	}
	return slices.Concat(sets, corpora(), refused())
}

// refused lists the sets of AIPerf that are not read.
func refused() []PublicSet {
	sets := []PublicSet{
		{Name: "mmvu", Not: "its videos are links of the hub that a server must be allowed to fetch"},
		{Name: "exgentic", Not: "its rows are spans of agents, a format that is not read yet"},
		{Name: "exgentic_v2", Not: "its rows are spans of agents, a format that is not read yet"},
		{Name: "weka_hf", Not: "it names no corpus: use weka:ORG/NAME"},
	}
	return sets
}

// corpora lists the published corpora of recorded sessions, by the names of AIPerf 0.13.
func corpora() (sets []PublicSet) {
	add := func(end, repo, doc string) {
		sets = append(sets, PublicSet{
			Name: "semianalysis_cc_traces_weka" + end, Repo: "semianalysisai/cc-traces-weka-" + repo, Split: "train", Doc: doc,
			Read: agentic.Format(), Agentic: true,
		})
	}
	both := func(end, repo, doc string) {
		add(end, repo, doc)
		add(end+"_256k", repo+"-256k", "The same without requests that need more than 256,000 tokens.")
	}
	both("_062126", "062126", "Sessions of coding agents: 393 traces.")
	both("_061526", "061526", "233 traces.")
	both("_061326", "061326", "183 traces.")
	for _, day := range []string{"060826", "060526", "060226"} {
		both("_with_subagents_"+day, "with-subagents-"+day, "An older capture.")
	}
	for _, end := range []string{"", "_256k"} {
		name := "semianalysis_cc_traces_weka_062126" + end
		add("_with_subagents"+end, "062126"+strings.ReplaceAll(end, "_", "-"), "Another name of `"+name+"`, as in AIPerf 0.13.")
		sets[len(sets)-1].Doubt = "the name of this corpus is that of another one in other tools; use " + name
	}
	add("", "no-subagents-051826", "98 traces without sub-agents.")
	add("_no_subagents", "no-subagents-051826", "98 traces without sub-agents.")
	return sets
}

// shareGPT returns the format of ShareGPT.
func shareGPT() source.Format {
	all := format.Formats()
	return all[slices.IndexFunc(all, func(f source.Format) bool { return f.Name == "sharegpt" })]
}

// FindPublic returns a set by its name, or the set for hf:ORG/NAME. The error says why a set
// is refused, or names those that are accepted.
func FindPublic(name string) (PublicSet, error) {
	if id, ok := strings.CutPrefix(name, prefix); ok {
		if !hub.IsID(id) || !strings.Contains(id, "/") {
			return PublicSet{}, fmt.Errorf("%q is not the id of a dataset: must be hf:ORG/NAME", name)
		}
		return PublicSet{Name: name, Repo: id, Split: "train", Read: source.Format{Name: name, New: func(o *source.Options) source.Decoder {
			return format.Table{Columns: o.Columns, Skip: true}.Format(name).New(o)
		}}}, nil
	}
	if id, ok := strings.CutPrefix(name, wekaPrefix); ok {
		if !hub.IsID(id) || !strings.Contains(id, "/") {
			return PublicSet{}, fmt.Errorf("%q is not the id of a dataset: must be weka:ORG/NAME", name)
		}
		return PublicSet{Name: name, Repo: id, Split: "train", Read: agentic.Format(), Agentic: true}, nil
	}
	var names []string
	for _, s := range publicSets() {
		if suggest.Fold(s.Name) == suggest.Fold(name) {
			if s.Not != "" {
				return s, fmt.Errorf("%s is not supported: %s", s.Name, s.Not)
			}
			return s, nil
		}
		if s.Not == "" {
			names = append(names, s.Name)
		}
	}
	return PublicSet{}, fmt.Errorf("unknown dataset %q; accepted: %s, or hf:ORG/NAME for another one of the Hugging Face hub, weka:ORG/NAME if it has sessions of agents", name, strings.Join(names, ", "))
}

// IsCorpus reports whether a public dataset has recorded sessions of agents.
func IsCorpus(name string) bool {
	set, err := FindPublic(name)
	return err == nil && set.Agentic
}

// publicRows returns the rows of the sets in a table of name, place and use.
func publicRows() string {
	var b strings.Builder
	for _, s := range publicSets() {
		where, doc := s.Repo, s.Doc
		for _, part := range []string{s.Subset, s.Split, s.File} {
			if part != "" {
				where += ", " + part
			}
		}
		switch {
		case s.Not != "":
			where, doc = "refused", "Not supported: "+s.Not+"."
		case s.Repo == "":
			where = "local copy of " + s.Local
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, where, doc)
	}
	return b.String()
}
