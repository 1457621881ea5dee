package catalogue

import "math"

// itemRows are about answers that hold vectors or scores, one for each input.
func itemRows() []Row {
	return []Row{
		{
			Def: Def{
				Tag: "item_count", Better: Neither, Header: "Items per Request", Short: "Items", Origin: Ours,
				Group: GroupDefault, Order: 920, Flags: ProducesItemsOnly | LargerIsBetter,
				Doc: "Vectors and scores in the response.",
			},
			unit: inItems, Each: func(v *View) float64 {
				if v.Record.Items == 0 {
					return math.NaN()
				}
				return float64(v.Record.Items)
			},
		},
		{
			Def: Def{
				Tag: "item_throughput", Better: Higher, Header: "Item Throughput", Short: "Items/sec", Origin: Ours,
				Group: GroupDefault, Order: 910, Flags: ProducesItemsOnly | LargerIsBetter,
				Doc: "Sum of item_count / W.",
			},
			unit: inItemRate, Total: rateOf("item_count"),
		},
	}
}
