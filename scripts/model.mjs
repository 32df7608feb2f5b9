// A small real model behind OpenAI's chat form, for one check of the model client.
//
//     node model.mjs NODE_MODULES MODEL.gguf
//
// It prints its address and serves until its stdin ends. Where tools are offered and none
// has answered yet, a grammar makes the model write a call: it is far too small to do so by
// itself. Everything else is its own.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, modelPath] = process.argv.slice(2);
const entry = createRequire(`${modules}/`).resolve("node-llama-cpp");
const { getLlama, LlamaChatSession, LlamaLogLevel } = await import(pathToFileURL(entry));

const NAME = "smollm2-135m";
const CONTEXT_TOKENS = 2048;
const OUTPUT_TOKENS = 96;

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath });
// One thread: more of them wait for each other on a busy machine.
const context = await model.createContext({ contextSize: CONTEXT_TOKENS, threads: 1 });
const sequence = context.getSequence();

/** The grammar of a call of one of the tools. */
function callGrammar(tools) {
  const calls = tools.map(({ function: tool }) => ({
    type: "object",
    properties: { name: { const: tool.name }, arguments: bounded(tool.parameters) },
  }));
  return llama.createGrammarForJsonSchema(calls.length === 1 ? calls[0] : { oneOf: calls });
}

/** A schema whose texts end soon. */
function bounded(schema) {
  const properties = Object.entries(schema.properties ?? {}).map(([name, kind]) => [
    name,
    kind.type === "string" ? { ...kind, maxLength: 24 } : kind,
  ]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

const textOf = (content) => (typeof content === "string" ? content : JSON.stringify(content ?? ""));

/** Asks the model with the conversation of a request. */
async function ask(body, options) {
  const system = body.messages.find((message) => message.role === "system");
  const said = body.messages.filter((message) => message.role !== "system");
  const lines = said.map((message) => {
    const calls = (message.tool_calls ?? []).map((call) => JSON.stringify(call.function));
    return `${message.role}: ${[textOf(message.content), ...calls].join(" ")}`;
  });
  const prompt = lines.join("\n");
  sequence.clearHistory();
  const session = new LlamaChatSession({
    contextSequence: sequence,
    systemPrompt: textOf(system?.content),
    autoDisposeSequence: false,
  });
  const maxTokens = Math.min(body.max_tokens ?? OUTPUT_TOKENS, OUTPUT_TOKENS);
  const text = await session.prompt(prompt, { temperature: 0, maxTokens, ...options });
  session.dispose();
  return { text, input: model.tokenize(prompt).length, output: model.tokenize(text).length };
}

async function complete(body, send) {
  const isCall =
    (body.tools ?? []).length > 0 && body.messages.every((message) => message.role !== "tool");
  const delta = (delta, finish_reason = null) =>
    send({ id: "chat", model: NAME, choices: [{ index: 0, delta, finish_reason }] });
  let answer;
  if (isCall) {
    answer = await ask(body, { grammar: await callGrammar(body.tools), maxTokens: 256 });
    const call = JSON.parse(answer.text);
    const pieces = JSON.stringify(call.arguments).match(/.{1,8}/gsu);
    const begun = { name: call.name, arguments: "" };
    delta({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: begun }] });
    for (const piece of pieces) {
      delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
    }
  } else {
    answer = await ask(body, { onTextChunk: (content) => delta({ content }) });
  }
  delta({}, isCall ? "tool_calls" : "stop");
  const usage = { prompt_tokens: answer.input, completion_tokens: answer.output };
  send({ id: "chat", model: NAME, choices: [], usage });
}

// One request after the other: there is one sequence.
let last = Promise.resolve();

const server = http.createServer((request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: [{ id: NAME, max_model_len: CONTEXT_TOKENS }] }));
    return;
  }
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    last = last.then(async () => {
      try {
        const body = JSON.parse(Buffer.concat(parts).toString());
        response.setHeader("content-type", "text/event-stream");
        await complete(body, (event) => response.write(`data: ${JSON.stringify(event)}\n\n`));
        response.end("data: [DONE]\n\n");
      } catch (error) {
        console.error(error);
        response.destroy();
      }
    });
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/v1`);
});
process.stdin.on("end", () => process.exit(0)).resume();
