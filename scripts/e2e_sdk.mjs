// The official OpenAI SDK for JavaScript against the simulated server:
// node e2e_sdk.mjs TARGET, the root of the server.
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { VERSION } from 'openai/version';

const messages = [{ role: 'user', content: 'Say something.' }];
const target = process.argv[2];

function clientOf(baseURL) {
  return new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0, timeout: 20_000 });
}

async function all(stream) {
  const items = [];
  for await (const item of await stream) items.push(item);
  return items;
}

const textOf = (chunks, piece) => chunks.filter((c) => c.choices.length).map((c) => piece(c.choices[0]) ?? '').join('');
const finishes = (chunks) => chunks.map((c) => c.choices[0]?.finish_reason).filter(Boolean);

async function models(client) {
  const list = await all(client.models.list());
  assert.deepEqual(list.map((m) => [m.id, m.object]), [['mock-model', 'model']]);
}

async function chat(client) {
  const ask = { model: 'm', messages, max_tokens: 7 };
  const whole = await client.chat.completions.create(ask);
  const said = whole.choices[0].message.content;
  assert.equal(whole.object, 'chat.completion');
  assert.equal(whole.choices[0].message.role, 'assistant');
  assert.equal(whole.choices[0].finish_reason, 'length');
  assert.ok(said);
  assert.equal(whole.usage.completion_tokens, 7);
  assert.ok(whole.usage.prompt_tokens > 0);
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + 7);

  const chunks = await all(client.chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks.length, 10); // the role, seven tokens, the finish reason, the usage
  assert.equal(chunks[0].choices[0].delta.role, 'assistant');
  assert.equal(textOf(chunks, (c) => c.delta.content), said);
  assert.deepEqual(finishes(chunks), ['length']);
  assert.equal(new Set(chunks.map((c) => c.id)).size, 1);
  assert.deepEqual([chunks.at(-1).choices, chunks.at(-1).usage], [[], whole.usage]);

  const runner = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } });
  const pieces = [];
  runner.on('content', (piece) => pieces.push(piece));
  const final = await runner.finalChatCompletion();
  assert.equal(pieces.length, 7);
  assert.equal(pieces.join(''), said);
  assert.equal(final.choices[0].message.content, said);
  assert.equal(final.choices[0].finish_reason, 'length');
  assert.deepEqual(final.usage, whole.usage);

  await assert.rejects(client.chat.completions.create({ ...ask, max_tokens: 10_000_000 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError, String(error));
    assert.deepEqual([error.status, error.type, error.param], [400, 'BadRequestError', 'max_tokens']);
    assert.match(error.message, /context length/);
    return true;
  });
}

async function tools(client) {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const ask = { model: 'm', messages, tools: [{ type: 'function', function: { name: 'get_weather', parameters } }], tool_choice: 'required' };
  const whole = (await client.chat.completions.create(ask)).choices[0];
  assert.equal(whole.finish_reason, 'tool_calls');
  const call = whole.message.tool_calls[0];
  assert.equal(call.function.name, 'get_weather');
  assert.equal(typeof JSON.parse(call.function.arguments).city, 'string');
  const final = (await client.chat.completions.stream(ask).finalChatCompletion()).choices[0];
  assert.deepEqual(final.message.tool_calls.map((t) => t.function), [call.function]);
  assert.equal(final.finish_reason, 'tool_calls');
}

// An answer in the form that a JSON schema gives.
async function structured(client) {
  const schema = { type: 'object', properties: { city: { type: 'string' }, people: { type: 'integer' } }, required: ['city', 'people'], additionalProperties: false };
  const follows = (place) => typeof place.city === 'string' && Number.isInteger(place.people);
  const said = await client.chat.completions.parse({ model: 'm', messages, response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } } });
  assert.ok(follows(said.choices[0].message.parsed), JSON.stringify(said));
  const format = { type: 'json_schema', name: 'place', strict: true, schema };
  const response = await client.responses.parse({ model: 'm', input: 'Name a place.', text: { format } });
  assert.ok(follows(response.output_parsed), JSON.stringify(response));
  assert.deepEqual([response.status, response.text.format], ['completed', format]);
}

// An error in the middle of a stream ends it with that error.
async function broken(client) {
  const headers = { 'X-Mock-Action': 'stream_error:after_tokens:3,message=out of luck' };
  const chunks = [];
  await assert.rejects(async () => {
    for await (const c of await client.chat.completions.create({ model: 'm', messages, stream: true }, { headers })) chunks.push(c);
  }, (error) => error instanceof OpenAI.APIError && error.message.includes('out of luck'));
  assert.equal(chunks.length, 4); // the role and three tokens
}

async function completions(client) {
  const ask = { model: 'm', prompt: 'Once upon', max_tokens: 5 };
  const whole = await client.completions.create(ask);
  assert.equal(whole.object, 'text_completion');
  assert.ok(whole.choices[0].text);
  assert.equal(whole.choices[0].finish_reason, 'length');
  assert.equal(whole.usage.completion_tokens, 5);
  const chunks = await all(client.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks.length, 7);
  assert.equal(textOf(chunks, (c) => c.text), whole.choices[0].text);
  assert.deepEqual(finishes(chunks), ['length']);
  assert.deepEqual(chunks.at(-1).usage, whole.usage);
}

async function responses(client) {
  const ask = { model: 'm', input: 'Say something.', instructions: 'Be brief.', max_output_tokens: 7 };
  const whole = await client.responses.create(ask);
  assert.deepEqual([whole.object, whole.status, whole.incomplete_details.reason], ['response', 'incomplete', 'max_output_tokens']);
  assert.ok(whole.output_text);
  assert.equal(whole.usage.output_tokens, 7);
  assert.equal(whole.usage.total_tokens, whole.usage.input_tokens + 7);

  const events = await all(client.responses.create({ ...ask, stream: true }));
  assert.deepEqual(events.map((e) => e.sequence_number), [...events.keys()]);
  assert.deepEqual(events.map((e) => e.type), [
    'response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
    ...Array(7).fill('response.output_text.delta'),
    'response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed',
  ]);
  assert.equal(events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), whole.output_text);
  assert.deepEqual(events.at(-1).response.usage, whole.usage);

  const helper = client.responses.stream(ask);
  const pieces = [];
  helper.on('response.output_text.delta', (e) => pieces.push(e.delta));
  assert.equal((await helper.finalResponse()).output_text, whole.output_text);
  assert.equal(pieces.join(''), whole.output_text);

  const next = await client.responses.create({ model: 'm', input: 'Go on.', previous_response_id: whole.id, max_output_tokens: 3 });
  assert.equal(next.previous_response_id, whole.id);
  assert.ok(next.usage.input_tokens > whole.usage.total_tokens);
  await assert.rejects(client.responses.create({ model: 'm', input: [] }), OpenAI.BadRequestError);
}

// A call of a function in a response: whole, in pieces, and answered.
async function responseTools(client) {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
  const tools = [{ type: 'function', name: 'get_weather', parameters, strict: true }];
  const ask = { model: 'm', input: 'Is it warm?', tools, tool_choice: 'required' };
  const whole = await client.responses.create(ask);
  const call = whole.output.at(-1);
  assert.deepEqual([call.type, call.name, call.status, whole.output_text], ['function_call', 'get_weather', 'completed', '']);
  assert.equal(typeof JSON.parse(call.arguments).city, 'string');

  const events = await all(client.responses.create({ ...ask, stream: true }));
  assert.deepEqual(events.map((e) => e.type).filter((kind) => kind !== 'response.function_call_arguments.delta'), [
    'response.created', 'response.in_progress', 'response.output_item.added',
    'response.function_call_arguments.done', 'response.output_item.done', 'response.completed',
  ]);
  assert.equal(events.filter((e) => e.type === 'response.function_call_arguments.delta').map((e) => e.delta).join(''), call.arguments);
  assert.deepEqual(events.at(-2).item, call);
  const parsed = await client.responses.stream(ask).finalResponse();
  assert.deepEqual(parsed.output.at(-1).parsed_arguments, JSON.parse(call.arguments));

  const told = { type: 'function_call_output', call_id: call.call_id, output: '20' };
  assert.ok((await client.responses.create({ ...ask, input: [{ role: 'user', content: 'Is it warm?' }, call, told] })).output_text);
}

async function embeddings(client) {
  const input = ['the cat sat on the mat', 'a cat on a mat', 'stock markets fell sharply'];
  const plain = await client.embeddings.create({ model: 'm', input, encoding_format: 'float' });
  assert.deepEqual(plain.data.map((d) => [d.index, d.object, d.embedding.length]), [0, 1, 2].map((i) => [i, 'embedding', 384]));
  assert.ok(plain.usage.prompt_tokens > 0);
  assert.equal(plain.usage.total_tokens, plain.usage.prompt_tokens);
  const dot = (a, b) => a.embedding.reduce((sum, x, i) => sum + x * b.embedding[i], 0);
  assert.ok(Math.abs(dot(plain.data[0], plain.data[0]) - 1) < 1e-5);
  assert.ok(dot(plain.data[0], plain.data[1]) > dot(plain.data[0], plain.data[2]));
  // Left to itself the SDK asks for base64, and decodes it.
  const coded = await client.embeddings.create({ model: 'm', input });
  assert.deepEqual(coded.data.map((d) => d.embedding), plain.data.map((d) => d.embedding.map(Math.fround)));
  const short = await client.embeddings.create({ model: 'm', input: input[0], dimensions: 16 });
  assert.equal(short.data[0].embedding.length, 16);
}

// clip is a WAV file of silence: 16 bits, one channel.
async function clip(seconds, rate = 8000) {
  const bytes = 2 * seconds * rate;
  const wav = Buffer.alloc(44 + bytes);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + bytes, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(2 * rate, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(bytes, 40);
  return toFile(wav, 'clip.wav', { type: 'audio/wav' });
}

async function transcriptions(client) {
  const heard = await client.audio.transcriptions.create({ model: 'whisper-1', file: await clip(2) });
  assert.deepEqual([heard.usage.type, heard.usage.seconds], ['duration', 2]);
  const events = await all(client.audio.transcriptions.create({ model: 'gpt-4o-transcribe', file: await clip(2), stream: true }));
  assert.deepEqual(events.map((e) => e.type), [...Array(5).fill('transcript.text.delta'), 'transcript.text.done']);
  assert.equal(events.slice(0, -1).map((e) => e.delta).join(''), heard.text);
  assert.equal(events.at(-1).text, heard.text);
  assert.equal(events.at(-1).usage.output_tokens, 5);
}

const direct = clientOf(`${target}/v1`);
for (const check of [models, chat, tools, structured, broken, completions, responses, responseTools, embeddings, transcriptions]) await check(direct);
const runpod = clientOf(`${target}/v2/my-endpoint/openai/v1`);
for (const check of [models, chat, completions, responses, embeddings, transcriptions]) await check(runpod);
console.log('OpenAI SDK for JavaScript', VERSION, 'is served');
