# Writes the golden tables of internal/engine/dataset/file/testdata with pyarrow and polars.
import datetime, decimal, json, sys
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.ipc as ipc, polars
out = sys.argv[1]
utc = datetime.timezone.utc
n = 5
def t(i): return datetime.datetime(2024, 2, 28 + i % 2, 23, 59, 58, 123000 + i)
scalars = pa.table({
  "text": pa.array(["plain", 'a "quote"\n', None, "", "Grüße 🚀"]),
  "large": pa.array(["x" * 20, None, "y", "z", ""], pa.large_string()),
  "bytes": pa.array([b"\x00\x01\xff", b"", None, b"abc", b"\xfe"]),
  "i8": pa.array([-128, 127, None, 0, 5], pa.int8()),
  "u8": pa.array([0, 255, None, 1, 2], pa.uint8()),
  "i16": pa.array([-32768, 32767, None, 0, 1], pa.int16()),
  "u16": pa.array([0, 65535, None, 0, 1], pa.uint16()),
  "i32": pa.array([-2**31, 2**31-1, None, 0, 1], pa.int32()),
  "u32": pa.array([0, 2**32-1, None, 0, 1], pa.uint32()),
  "i64": pa.array([-2**63, 2**63-1, None, 0, 1], pa.int64()),
  "u64": pa.array([0, 2**64-1, None, 0, 1], pa.uint64()),
  "f32": pa.array([0.5, -1e30, None, 3.25, float("nan")], pa.float32()),
  "f64": pa.array([0.1, 1e300, None, float("inf"), -0.000001], pa.float64()),
  "yes": pa.array([True, False, None, True, False]),
  "day": pa.array([datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), None, datetime.date(1970, 1, 1), datetime.date(2100, 1, 1)]),
  "ms": pa.array([t(i) if i != 2 else None for i in range(n)], pa.timestamp("ms")),
  "us": pa.array([t(i).replace(tzinfo=utc) if i != 2 else None for i in range(n)], pa.timestamp("us", "UTC")),
  "before": pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59, 999000), None, None, None, None], pa.timestamp("ns")),
  "price": pa.array([decimal.Decimal("12.34"), decimal.Decimal("-0.05"), None, decimal.Decimal("0"), decimal.Decimal("99999.99")], pa.decimal128(7, 2)),
  "nothing": pa.array([None] * n, pa.null()),
  "kind": pa.array(["a", "b", None, "a", "a"]).dictionary_encode(),
})
nested = pa.table({
  "messages": pa.array([[{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}], [], None, [None, {"role": "user", "content": "x"}], [{"role": "u", "content": "v"}]],
     pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
  "ids": pa.array([[1, 2, 3], [], None, [None, 4], [5]], pa.list_(pa.int64())),
  "deep": pa.array([[[1], []], [], None, [None, [2, 3]], [[4]]], pa.list_(pa.list_(pa.int32()))),
  "image": pa.array([{"bytes": b"\x89PNG", "path": "a.png"}, None, {"bytes": None, "path": "b"}, {"bytes": b"", "path": None}, {"bytes": b"z", "path": "c"}], pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
  "map": pa.array([[("a", 1), ("b", None)], [], None, [("c", 3)], [("d", 4)]], pa.map_(pa.string(), pa.int64())),
  "bynumber": pa.array([[(1, "a")], [], None, [(2, None)], [(3, "c")]], pa.map_(pa.int32(), pa.string())),
  "pair": pa.array([[1.5, 2.5], [0, 1], None, [3, 4], [5, 6]], pa.list_(pa.float32(), 2)),
  "inner": pa.array([{"list": [{"n": 1}, {"n": None}]}, {"list": []}, {"list": None}, None, {"list": [None]}], pa.struct([("list", pa.list_(pa.struct([("n", pa.int64())])))])),
})
def enc(v):
  import base64, math
  if isinstance(v, dict): return {k: enc(x) for k, x in v.items()}
  if isinstance(v, (list, tuple)): return [enc(x) for x in v]
  if isinstance(v, bytes): return base64.b64encode(v).decode()
  if isinstance(v, float) and not math.isfinite(v): return None
  if isinstance(v, datetime.datetime):
    s = v.replace(tzinfo=None).isoformat()
    if "." in s: s = s.rstrip("0").rstrip(".")
    return s + "Z"
  if isinstance(v, datetime.date): return v.isoformat()
  if isinstance(v, decimal.Decimal): return float(v)
  if hasattr(v, "isoformat"): return v.isoformat()
  return v
def rows(table):
  cols = {}
  for name in table.column_names:
    c = table[name]
    if name == "map": vals = [None if v is None else dict(v) for v in c.to_pylist()]
    elif name == "bynumber": vals = [None if v is None else [{"key": k, "value": x} for k, x in v] for v in c.to_pylist()]
    elif name == "before": vals = [None if v is None else "1969-12-31T23:59:59.999Z" for v in c.cast(pa.int64()).to_pylist()]
    else: vals = c.to_pylist()
    cols[name] = vals
  return [enc({k: cols[k][i] for k in cols}) for i in range(table.num_rows)]
for name, table in (("scalars", scalars), ("nested", nested)):
  with open(f"{out}/{name}.jsonl", "w") as f:
    for r in rows(table): f.write(json.dumps(r, ensure_ascii=False) + "\n")
  for codec in ("none", "snappy", "zstd"):
    pq.write_table(table, f"{out}/{name}.{codec}.parquet", compression=codec, row_group_size=3, data_page_version="2.0" if codec == "zstd" else "1.0", use_dictionary=codec != "none", store_schema=False)
  if name == "scalars": pq.write_table(table, f"{out}/{name}.int96.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
  for codec in (None, "lz4", "zstd"):
    with ipc.new_file(f"{out}/{name}.{codec or 'none'}.arrow", table.schema, options=ipc.IpcWriteOptions(compression=codec)) as w: w.write_table(table, max_chunksize=3)
  with ipc.new_stream(f"{out}/{name}.stream.arrow", table.schema) as w: w.write_table(table, max_chunksize=2)
p = polars.DataFrame({"text": ["short", "a text that is longer than twelve bytes", None], "n": [1, None, 3], "list": [["a"], [], None]})
p.write_ipc(f"{out}/views.arrow", compat_level=polars.CompatLevel.newest())
p.write_ipc(f"{out}/viewszstd.arrow", compression="zstd", compat_level=polars.CompatLevel.newest())
p.write_parquet(f"{out}/views.parquet")
with open(f"{out}/views.jsonl", "w") as f:
  for r in p.to_dicts(): f.write(json.dumps(r) + "\n")
