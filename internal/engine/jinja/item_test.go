package jinja

import "testing"

// TestItems: items of lists and texts are Python's.
func TestItems(t *testing.T) {
	for source, want := range map[string]string{
		`{{ [1][-1] }}`: "1", `{{ [1, 2][-2] }}`: "1", `{{ [1, 2][1] }}`: "2", `{{ "a b".split(",")[-1] }}`: "a b",
		`{{ "aé"[1] }}`: "é", `{{ "aé"[-2] }}`: "a", `{{ "a"[-1] }}`: "a", `{{ {"a": [3]}["a"][-1] }}`: "3",
		`{{ [1][-2] is defined }}`: "False", `{{ [1][1] }}`: "", `{{ [[1]][0][0] }}`: "1", `{{ texts[-3] }}`: "one",
	} {
		got, err := render(source, Options{Lenient: true})
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", source, got, err, want)
		}
	}
	if got, err := render(`{{ [1][1] }}`, Options{}); err == nil {
		t.Errorf("an item that is not there is %q", got)
	}
}

// TestMethodsMakePlainTexts: the results of methods equal other texts.
func TestMethodsMakePlainTexts(t *testing.T) {
	for source, want := range map[string]string{
		`{{ " x ".strip() == "x" }}`: "True", `{{ "a,b".split(",") == ["a", "b"] }}`: "True", `{{ "x".upper() in ["X"] }}`: "True",
		`{{ "a-b".partition("-")[2] == "b" }}`: "True", `{{ "a".replace("a", "b") == "b" }}`: "True", `{{ "ab".find("b") == 1 }}`: "True",
	} {
		got, err := render(source, Options{})
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", source, got, err, want)
		}
	}
}
