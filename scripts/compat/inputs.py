"""The files that both tools read. All of them are made here, with a fixed seed."""
import base64
import datetime
import json
import os
import random

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

WORDS = """the river carries boats past old mills while farmers mend fences and children count swallows over
wet fields near a stone bridge where every market day traders weigh apples bread wool and honey before noon""".split()
PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==")
BLOCK = 512


class Inputs:
    def __init__(self, folder):
        self.folder, self.random = folder, random.Random(7)
        os.makedirs(folder, exist_ok=True)
        for make in (self.single_turn, self.multi_turn, self.mooncake, self.random_pool, self.bailian, self.burst,
                     self.bodies, self.sagemaker, self.sharegpt, self.baseten, self.timed):
            make()

    def text(self, low, high):
        return " ".join(self.random.choice(WORDS) for _ in range(self.random.randint(low, high)))

    def lines(self, name, rows):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)

    def single_turn(self):
        rows = []
        for i in range(240):
            row = {"text": f"{i}: {self.text(10, 60)}", "output_length": self.random.randint(4, 40)}
            kind = i % 6
            if kind < 3:
                row["session_id"] = f"s{i // 6}"
            if kind == 2:
                row["delay"] = 20
            if kind == 3:
                del row["output_length"]
            if kind == 4:
                row = {"texts": [row["text"], "second " + self.text(3, 6)], "output_length": 9}
            if kind == 5:
                row["extra"] = {"temperature": 0, "top_p": 0.5}
            rows.append(row)
        self.lines("single_turn.jsonl", rows)

    def multi_turn(self):
        rows = []
        for i in range(100):
            turns = [{"role": "system", "text": f"Conversation {i}. {self.text(5, 9)}"}] if i % 2 == 0 else []
            for t in range(1 + i % 5):
                turn = {"text": f"c{i} t{t}: {self.text(5, 40)}"}
                if t:
                    turn["delay"] = self.random.choice([10, 30, 60])
                if self.random.random() < 0.6:
                    turn["output_length"] = self.random.randint(5, 30)
                turns.append(turn)
            rows.append({"session_id": f"conv-{i}", "turns": turns})
        self.lines("multi_turn.jsonl", rows)

    def mooncake(self):
        at, fresh, chains, rows = 5000, 100, [], []
        for _ in range(200):
            at += int(self.random.expovariate(1 / 40))
            # the last block of a row may be short, so another row never shares it
            base = self.random.choice(chains) if chains and self.random.random() < 0.6 else []
            ids = base[:self.random.randint(1, len(base) - 1)] if len(base) > 1 else []
            new = self.random.randint(1, 4)
            ids = ids + list(range(fresh, fresh + new))
            fresh += new
            chains.append(ids)
            rows.append({"timestamp": at, "input_length": (len(ids) - 1) * BLOCK + self.random.randint(1, BLOCK),
                         "output_length": self.random.randint(2, 30), "hash_ids": ids})
        self.lines("mooncake.jsonl", rows)
        self.lines("mooncake_lengths.jsonl", [
            {"timestamp": i * 15, "input_length": self.random.randint(20, 900), "output_length": self.random.randint(1, 30)}
            for i in range(100)])
        self.lines("mooncake_text.jsonl", [
            {"text_input": f"m{i}: {self.text(5, 20)}", "output_length": self.random.randint(2, 20), "session_id": f"s{i % 20}",
             **({"timestamp": 100 + i * 25} if i < 20 else {"delay": 15})} for i in range(60)])
        tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]
        self.lines("mooncake_messages.jsonl", [
            {"timestamp": i * 20, "output_length": self.random.randint(2, 20), "messages": [
                {"role": "system", "content": "Be brief."}, {"role": "user", "content": f"q{i} {self.text(5, 9)}"},
                {"role": "assistant", "content": "yes"}, {"role": "user", "content": self.text(3, 9)}],
             **({"tools": tools} if i % 2 else {}), **({"extra": {"temperature": 0.5}} if i % 3 == 0 else {})}
            for i in range(40)])

    def random_pool(self):
        self.lines("pool/questions.jsonl", [{"text": f"Q{i}: {self.text(5, 30)}"} for i in range(40)])
        self.lines("pool/contexts.jsonl", [{"text": f"C{i}: {self.text(20, 60)}"} for i in range(30)])
        self.lines("pool.jsonl", [
            {"text": f"Q{i}: {self.text(5, 30)}", "image": "data:image/png;base64," + PIXEL} for i in range(40)])

    def bailian(self):
        rows, open_ends = [], []
        for chat in range(1000, 1060):
            parent, turn, ids = -1, 1, []
            if open_ends and self.random.random() < 0.5:
                parent, turn, ids = open_ends.pop(self.random.randrange(len(open_ends)))
                turn += 1
            ids = ids + [chat * 10 + i for i in range(self.random.randint(1, 3))]
            rows.append({"chat_id": chat, "parent_chat_id": parent, "timestamp": round((chat - 1000) * 0.03, 3), "turn": turn,
                         "input_length": len(ids) * 16, "output_length": self.random.randint(1, 20), "type": "text", "hash_ids": ids})
            open_ends.append((chat, turn, ids))
        self.lines("bailian.jsonl", rows)

    def burst(self):
        at = 5.0
        with open(os.path.join(self.folder, "burst.csv"), "w") as f:
            f.write("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
            for _ in range(60):
                at += self.random.choice([0, 0.05])
                asked, answered = self.random.randint(5, 400), self.random.randint(1, 25)
                f.write(f"{at:.2f},ChatGPT,{asked},{answered},{asked + answered},Conversation log\n")

    def body(self, i):
        return {"model": "other", "messages": [{"role": "user", "content": f"raw {i} {self.text(4, 9)}"}],
                "max_tokens": 5 + i % 7, "temperature": 0.1, "stream": True}

    def bodies(self):
        self.lines("raw.jsonl", [self.body(i) for i in range(30)])
        for k in range(6):
            self.lines(f"raw/conversation{k}.jsonl", [self.body(100 * k + i) for i in range(3)])
        sessions = [{"session_id": f"a{k}", "payloads": [self.body(1000 * k + i) for i in range(1 + k % 3)]} for k in range(12)]
        with open(os.path.join(self.folder, "inputs.json"), "w") as f:
            json.dump({"data": sessions}, f)

    def sagemaker(self):
        start, rows = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), []
        for i in self.random.sample(range(30), 30):
            asked = {"model": "prod", "messages": [{"role": "user", "content": f"sm{i} {self.text(4, 9)}"}], "max_tokens": 3 + i % 9}
            answered = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 4}}

            def side(value, mode):
                data = json.dumps(value)
                encoded = {"encoding": "JSON", "data": data} if i % 2 else {
                    "encoding": "BASE64", "data": base64.b64encode(data.encode()).decode()}
                return {"observedContentType": "application/json", "mode": mode, **encoded}

            at = (start + datetime.timedelta(milliseconds=40 * i)).isoformat().replace("+00:00", "Z")
            rows.append({"captureData": {"endpointInput": side(asked, "INPUT"), "endpointOutput": side(answered, "OUTPUT")},
                         "eventMetadata": {"eventId": f"e{i}", "inferenceTime": at}, "eventVersion": "0"})
        self.lines("sagemaker.jsonl", rows)

    def sharegpt(self):
        rows = []
        for i in range(60):
            said = [{"from": "system", "value": "sys"}] if i % 7 == 0 else []
            for t in range(i % 4):
                said += [{"from": "human", "value": f"h{i}.{t} {self.text(1, 50)}"}, {"from": "gpt", "value": self.text(1, 40)}]
            rows.append({"id": f"x{i}", "conversations": said[:1] if i % 9 == 0 else said})
        with open(os.path.join(self.folder, "sharegpt.json"), "w") as f:
            json.dump(rows, f)

    def baseten(self):
        table = pyarrow.Table.from_pylist([
            {"timestamp_start_unix_ms": 1700000000000 + i * 35, "prompt": f"bt{i} {self.text(5, 12)}", "input_tokens": 12,
             "output_tokens": self.random.randint(0, 20), "total_hashes": [i, i + 1], "provided_session_id": f"p{i % 25}",
             "duration_e2e_ms": 50, "block_size": 64} for i in range(40)])
        pyarrow.parquet.write_table(table, os.path.join(self.folder, "baseten.parquet"))
        with pyarrow.ipc.new_file(os.path.join(self.folder, "baseten.arrow"), table.schema) as out:
            out.write_table(table)

    def timed(self):
        """Every third row belongs to a session: its later rows have timestamps of their own."""
        self.lines("timed.jsonl", [
            {"timestamp": 1000 + i * 20, "text": f"t{i} {self.text(5, 12)}", "output_length": 5,
             **({"session_id": f"s{i // 12}"} if i % 3 == 0 else {})} for i in range(120)])
