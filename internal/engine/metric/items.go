package metric

import "math"

// itemRows are about answers that hold vectors or scores, one for each input.
func itemRows() []row {
	return []row{
		{
			Def: Def{
				Tag: "item_count", Header: "Items per Request", Short: "Items", Origin: ours,
				Group: GroupDefault, Order: 920, Flags: ProducesItemsOnly | LargerIsBetter,
				Doc: "Vectors and scores in the response.",
			},
			unit: inItems, each: func(v *view) float64 {
				if v.r.Items == 0 {
					return math.NaN()
				}
				return float64(v.r.Items)
			},
		},
		{
			Def: Def{
				Tag: "item_throughput", Header: "Item Throughput", Short: "Items/sec", Origin: ours,
				Group: GroupDefault, Order: 910, Flags: ProducesItemsOnly | LargerIsBetter,
				Doc: "Sum of item_count / W.",
			},
			unit: inItemRate, total: rateOf("item_count"),
		},
	}
}
