package text

import "strings"

// proseSentences are the templates of the sentences of the prose corpus.
func proseSentences() []string {
	return []string{
		"The $adj $noun $verbed the $noun $where.",
		"$When, $name $verbed a $adj $noun and said nothing about it.",
		"Nobody in $place had seen such a $noun before, and $name was $mood.",
		"It was $weather when the $person $verbed the $noun.",
		"“I have never $verbed a $noun,” said $name, “and I do not mean to begin now.”",
		"“Where is the $adj $noun?” asked the $person. “$Where, where you left it,” answered $name.",
		"$Name and $name met $where, as they had done every $day for $num years.",
		"By the time the $noun was $verbed, the $person had gone back to $place.",
		"There were $num $nouns in the $room, but only one of them was $adj.",
		"If the $person had $verbed the $noun, the $nouns of $place would still be $adj.",
		"In $year a $person from $place $verbed $num $nouns and $adverb wrote down what they cost.",
		"$Adverb, the $adj $nouns were carried $where.",
		"What $name remembered best was the $noun: $adj, a little $adj, and always $where.",
		"The road to $place leads past a $adj $noun, a $noun, and the house of a $person.",
		"Some say that the $noun is $adj; others, that it was never $verbed at all.",
		"$Name looked at the $noun, then at the $person, and $adverb $verbed both.",
		"A $person without a $noun is like a $room without a $noun.",
		"$When the $person came down to the $room and found it full of $nouns.",
		"$Weather days were rare in $place, so the $nouns stayed $where until the $season.",
		"The letter from $name was short: “The $noun is $verbed. Send $num $nouns before the $season.”",
		"Every $season the $nouns of $place are $verbed, and every $season someone $adverb complains.",
		"He had $verbed $num $nouns by $day evening, which made the $person $mood.",
		"She kept the $noun in the $room, because the $noun in the $room was too $adj.",
		"Neither the $person nor $name knew why the $adj $noun had been $verbed.",
		"$When they crossed the river near $place with $num $nouns and a $adj $noun.",
		"Of all the $nouns, the $adj ones were $verbed first, $adverb and without a word.",
		"“Give me the $noun,” said $name $adverb, “or the $person will hear of it.”",
		"The $season of $year was so $adj that even the $nouns of $place were $verbed.",
		"One $noun was $adj, the next was $adj, and the third was not a $noun at all.",
		"$Name had a plan, and the plan needed a $adj $noun, $num $nouns, and a $mood $person.",
	}
}

// proseWords are the word lists of the prose corpus.
func proseWords() map[string][]string {
	words := map[string]string{
		"noun": "lantern river stone letter window bridge harvest ladder mirror garden kettle compass orchard barrel " +
			"candle saddle anchor chimney drawer feather goblet hammer island jacket kitchen ledger meadow needle " +
			"oven pillow quarry ribbon shovel table umbrella valley wagon yard apple basket coin door engine fence " +
			"gate hill inkwell jar key lamp map net oar pump quilt rope shelf tower urn violin wheel axe bell clock " +
			"drum eagle flag glove horse icicle jug kite loaf mill nail otter plough queue roof sail tunnel vase " +
			"well almanac bucket carpet desk embankment fountain grindstone hinge inn jetty kiln lock mast notebook " +
			"orchid parcel railing sundial telescope vineyard weathervane",
		"nouns": "lanterns rivers stones letters windows bridges ladders mirrors gardens kettles orchards barrels candles " +
			"saddles anchors chimneys drawers feathers goblets hammers islands jackets ledgers meadows needles ovens " +
			"pillows ribbons shovels tables umbrellas valleys wagons apples baskets coins doors engines fences gates " +
			"keys lamps maps nets oars pumps quilts ropes shelves towers violins wheels bells clocks drums flags gloves " +
			"horses jars kites loaves mills nails otters ploughs roofs sails tunnels vases wells carpets desks hinges " +
			"locks notebooks parcels sundials",
		"adj": "old quiet narrow bright heavy broken golden empty distant early gentle hollow idle knotted level merry " +
			"northern open pale quick round silent tall upper vast warm yellow ancient brittle clumsy dusty even famous " +
			"green humble iron jagged kind lonely modest new odd plain rusty simple thin useful velvet wooden amber bitter " +
			"copper deep elegant faded grey hidden ivory little muddy noble ordinary polished restless smooth tangled uneven " +
			"violet wild borrowed careful crooked faithful forgotten half-finished sunlit well-known",
		"verbed": "carried opened mended painted counted followed lifted moved noticed offered packed questioned repaired sold " +
			"traded uncovered visited washed borrowed cleaned described examined forgotten guarded hidden ignored judged kept " +
			"lost measured named ordered praised remembered saved tested used weighed admired buried copied divided exchanged " +
			"found gathered handled inspected lent mentioned observed planted raised searched turned understood valued watched",
		"adverb": "slowly carefully quietly suddenly gladly rarely often kindly firmly badly calmly deeply eagerly finally " +
			"gently hardly idly justly lately mostly nearly openly patiently quickly readily safely truly usually warmly " +
			"awkwardly bravely cheerfully doubtfully evenly faithfully gravely honestly",
		"person": "baker miller captain teacher farmer printer sailor tailor mason gardener doctor ferryman librarian painter " +
			"blacksmith clerk merchant shepherd weaver astronomer beekeeper carpenter drummer engineer fisherman glazier hatter " +
			"innkeeper jeweller lamplighter messenger notary organist postman roofer surveyor treasurer watchmaker",
		"room": "attic cellar kitchen library workshop stable hall barn chapel office pantry study tower room ballroom boathouse " +
			"corridor courtyard dairy gallery greenhouse hayloft laundry nursery parlour",
		"mood": "pleased worried amused curious angry relieved surprised tired hopeful proud embarrassed grateful impatient " +
			"jealous puzzled sleepy thoughtful unhappy delighted calm",
		"season":  "spring summer autumn winter harvest thaw feast fair",
		"day":     "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
		"weather": "foggy rainy windy sunny cold snowy stormy mild humid frosty cloudy dry dark",
		"name": "Agnes Bertram Clara Dorian Edith Felix Greta Hugo Ida Jasper Katrin Leopold Martha Nils Odette Philip Quentin " +
			"Rosalind Samuel Thea Ulric Vera Walter Xenia Yorick Zelda Ansel Beatrix Conrad Della Emil Frieda Gustav Hedda " +
			"Ivan Johanna Karl Lydia Moritz Nora Oskar Paula Rupert Selma Tobias Ursula Viktor Wanda",
		"place": "Eastmere Holloway Kingsford Larkfield Millbrook Northam Oakhurst Penwick Ravensdale Stonebridge Thornbury " +
			"Underhill Westbrook Ashcombe Birchfield Copperhill Dunmoor Elmstead Fairhaven Greywater Hazelby Ironford " +
			"Juniper-on-Sea Kestrel-Bay Longmarsh Marlow-Heath Netherfield Otterbourne",
	}
	lists := make(map[string][]string, len(words)+2)
	for name, list := range words {
		lists[name] = strings.Fields(list)
	}
	lists["when"] = []string{
		"in the morning", "late that night", "after the rain", "before the war", "some years later", "on the third day",
		"at noon", "without warning", "long ago", "towards evening", "when the bells had stopped", "once again",
		"during the feast", "on the way home", "as the sun went down", "while everyone slept", "the following week",
		"at the end of the month", "one winter", "not long afterwards",
	}
	lists["where"] = []string{
		"under the bridge", "behind the mill", "beside the river", "at the edge of the forest", "on the hill",
		"near the harbour", "in the market square", "by the old wall", "across the valley", "between two hedges",
		"above the stable", "inside the church", "at the foot of the tower", "along the canal", "beyond the orchard",
		"on the upper shelf", "in front of the inn", "below the stairs", "next to the well", "over the gate",
	}
	return lists
}
