package text

import "strings"

// codeSnippets are the templates of the coding corpus: functions in several languages,
// and texts around code, such as logs and messages.
func codeSnippets() []string {
	return []string{
		`// $Verb1$Thing1 returns the $adj1 $thing1 of $field1.
func $Verb1$Thing1($field1 []$gotype1, limit int) (map[string]$gotype1, error) {
	$thing1 := make(map[string]$gotype1, len($field1))
	for i, v := range $field1 {
		if i >= limit || i > $num {
			return nil, fmt.Errorf("$verb1 $thing1 %d: %w", i, Err$Adj1)
		}
		$thing1[strconv.Itoa(i)] = v
	}
	return $thing1, nil
}
`, `type $Thing1 struct {
	$Field1 $gotype ` + "`json:\"$field1\"`" + `
	$Field2 $gotype ` + "`json:\"$field2,omitempty\"`" + `
	mu sync.Mutex
}

func (x *$Thing1) $Verb(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.$Field1 == x.$Field2 {
		return errors.New("$field1 is $adj")
	}
	return x.$verb(ctx, $num)
}
`, `def $verb1_$thing1($field1, $field2=$num):
    """$Verb1 the $adj $thing1 and return its $field3."""
    $field3 = {}
    for key, value in sorted($field1.items()):
        if value is None or len(value) > $field2:
            raise ValueError(f"$adj $thing1: {key!r} has {len(value)} items")
        $field3[key] = [item * $num for item in value if item % $num == 0]
    return $field3
`, `class $Adj$Thing1(Base$Thing):
    def __init__(self, $field1: str, $field2: int = $num) -> None:
        super().__init__()
        self.$field1 = $field1.strip().lower()
        self._$field2 = max($field2, $num)

    @property
    def $field3(self) -> float:
        return self._$field2 / ($num + len(self.$field1))
`, `export async function $verb1$Thing1($field1: string, $field2 = $num): Promise<$Thing1[]> {
  const response = await fetch(` + "`/api/v1/$thing1/${$field1}?$field2=${$field2}`" + `);
  if (!response.ok) {
    throw new Error("$verb1 $thing1: status " + response.status);
  }
  const { items } = await response.json();
  return items.filter((x) => x.$field3 !== undefined && x.$field2 > $num);
}
`, `pub fn $verb1_$thing1(input: &[u8], $field1: usize) -> Result<Vec<u32>, $Thing1Error> {
    let mut $field2 = Vec::with_capacity($field1);
    for chunk in input.chunks($num) {
        match chunk.iter().map(|b| u32::from(*b)).sum::<u32>() {
            0 => return Err($Thing1Error::$Adj),
            n if n as usize > $field1 => break,
            n => $field2.push(n ^ 0x$hex),
        }
    }
    Ok($field2)
}
`, `static int $verb1_$thing1(struct $thing1 *$field1, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ($field1[i].$field2 == 0x$hex)
			return -E$Adj;
		$field1[i].$field3 += $num;
	}
	return 0;
}
`, `SELECT t.$field1, COUNT(*) AS $field2, AVG(u.$field3) AS mean_$field3
FROM $thing1 AS t
LEFT JOIN $thing2 AS u ON u.$thing1_id = t.id
WHERE t.created_at >= '$year-01-01' AND u.$field3 > $num
GROUP BY t.$field1
HAVING COUNT(*) > $num
ORDER BY $field2 DESC
LIMIT $num;
`, `{
  "id": "$hex",
  "$thing1": {"$field1": $num, "$field2": "$adj", "$field3": [$num, $num, $num]},
  "tags": ["$adj", "$thing", "$verb"],
  "created": "$year-06-15T10:00:00Z",
  "owner": null
}
`, `2025-03-14T09:26:53.$num INFO  $thing1: $verb $field1=$num $field2=$adj id=$hex
2025-03-14T09:26:54.$num WARN  $thing1: slow $verb of $thing2 took=$num ms limit=$num
2025-03-14T09:26:55.$num ERROR $thing1: cannot $verb $thing2: $adj $field3 (attempt $num)
`, `Traceback (most recent call last):
  File "/srv/$thing1/$verb1.py", line $num, in <module>
    main()
  File "/srv/$thing1/$verb1.py", line $num, in main
    $field1 = $verb1_$thing2($field2, $num)
KeyError: '$field3'
`, `panic: runtime error: index out of range [$num] with length $num

goroutine $num [running]:
main.(*$Thing1).$verb(0xc000$hex, {0x$hex, 0x$num})
	/build/$thing1/$thing2.go:$num +0x$num
`, `diff --git a/$thing1/$verb1.go b/$thing1/$verb1.go
index $hex..$hex 100644
--- a/$thing1/$verb1.go
+++ b/$thing1/$verb1.go
@@ -$num,7 +$num,7 @@ func $Verb1$Thing1() {
 	$field1 := $num
-	if $field1 > $num {
+	if $field1 >= $num && $field2 != nil {
 		return $adj$Thing
 	}
`, `user@build:~/$thing1$ make $verb1
cc -O2 -Wall -c $thing1.c -o build/$thing1.o
$thing1.c:$num:$num: warning: unused variable '$field1'
ld: $num objects, $num symbols
user@build:~/$thing1$ ./build/$thing1 --$field1 $num --$field2=$adj
$thing1: $verb1 finished, $num $field3 in $num ms
`, `services:
  $thing1:
    image: registry.example/$thing1:$num
    environment:
      $field1: "$num"
      $field2: $adj
    ports: ["$num:$num"]
    depends_on: [$thing2]
`, `# $Verb the $thing1

Set ` + "`$field1`" + ` to a $adj value before you $verb the $thing2; the default of $num is too small
for more than $num entries. See *$Adj $thing* for the reasons.

- ` + "`$field2`" + `: $num by default
- ` + "`$field3`" + `: must not be $adj
`,
	}
}

// codeWords are the word lists of the coding corpus.
func codeWords() map[string][]string {
	words := map[string]string{
		"verb": "load parse merge split encode decode build resolve fetch store update delete validate render schedule retry flush " +
			"append compact rotate sign verify compress expand index search filter group sort convert import export register " +
			"cancel acquire release snapshot restore migrate publish consume",
		"thing": "user order invoice session token cache queue buffer record index segment cluster shard node edge graph tree " +
			"matrix vector tensor event message packet socket stream worker task job pipeline schema table column row report " +
			"metric trace span lease lock ticket account payment catalog product basket route policy region volume image layer",
		"field": "count offset length total start end name label path host port weight score rank depth width height ratio rate limit " +
			"timeout interval deadline version revision checksum digest status state owner parent children cursor page size " +
			"capacity priority threshold retries attempts latency bytes tokens",
		"adj": "invalid empty stale pending closed partial cached missing expired locked remote local shared dirty frozen nested sorted " +
			"unique broken optional internal public default final draft active idle ready",
		"gotype": "int string float64 bool byte uint64 time.Duration []byte",
	}
	lists := make(map[string][]string, len(words))
	for name, list := range words {
		lists[name] = strings.Fields(list)
	}
	return lists
}
