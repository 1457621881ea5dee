package config

import (
	"aiperfd/internal/engine/config/problem"
	"aiperfd/internal/engine/config/tree"
)

// WekaPrefix begins the names of public datasets of the Hugging Face hub that have recorded sessions of agents.
const WekaPrefix = "weka:"

// nameCorpora replaces AIPerf's field for a repository with recorded sessions by the name of that public dataset.
func nameCorpora(d *Draft) {
	benchmark := d.Root.Get("benchmark")
	if benchmark == nil || benchmark.Shape != tree.Object {
		return
	}
	datasets := benchmark.Get("datasets")
	if datasets == nil || datasets.Shape != tree.List {
		return
	}
	for _, set := range datasets.Items {
		if set.Shape != tree.Object {
			continue
		}
		repository := set.Drop("hfWekaDataset")
		switch {
		case repository == nil || repository.Shape == tree.Null:
		case repository.Shape != tree.Text:
			d.FailValue(repository, problem.CodeWrongType, "must be the id of a repository, ORG/NAME")
		case set.Get("dataset") != nil || set.Get("path") != nil:
			d.Fail(repository.Place, problem.CodeConflict, "hfWekaDataset: excludes dataset and path")
		default:
			name := tree.TextNode(WekaPrefix + repository.Scalar)
			name.Place = repository.Place
			set.Set("dataset", name)
		}
	}
}
