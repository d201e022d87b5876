// An OpenAI-compatible server of one model over llama.cpp, for tests: completions and chat, on loopback, on one thread.
//
//   npm ci --omit=optional --ignore-scripts    # once, in this folder
//   node server.mjs [--model FILE] [--port 0] [--sequences 16] [--rounded] [--ignore-n] [--exit-with-stdin]
//
// It prints one line, "listening on http://127.0.0.1:PORT/v1", and serves until SIGTERM, SIGINT or, with
// --exit-with-stdin, until its standard input ends, as it does when the process that started it dies.
//
// The sampler is neutral unless a request says otherwise: temperature 1, every token a candidate. A request with a seed
// is repeatable: choice i draws from a stream of (seed, i). (What is computed beside it moves its probabilities in the
// seventh digit, so that one of millions of tokens may differ.) With --ignore-n a request for n choices silently gets
// one, as from some servers. Log-probabilities are those of the law that was sampled from. max_tokens counts the end
// token, so a text of max_tokens characters was cut off even where it is complete.
import http from "node:http";
import {randomInt} from "node:crypto";
import {fileURLToPath} from "node:url";
import {parseArgs} from "node:util";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const MODEL = "vigorlab-arithmetic";
const DEFAULT_MAX_TOKENS = 16; // OpenAI's for completions
const MAX_CHOICES = 1024;
const MAX_BODY = 1 << 20; // bytes

const {values: options} = parseArgs({options: {
    "model": {type: "string", default: fileURLToPath(new URL("../testdata/model.gguf", import.meta.url))},
    "port": {type: "string", default: "0"},
    "sequences": {type: "string", default: "16"}, // generated side by side
    "rounded": {type: "boolean", default: false}, // llama.cpp's own defaults, see below
    "ignore-n": {type: "boolean", default: false},
    "exit-with-stdin": {type: "boolean", default: false}
}});

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1});
const model = await llama.loadModel({modelPath: options.model});
const {bos, eos} = model.tokens;

// By default llama.cpp keeps keys and values in 16 bits and rounds further in flash attention, which moves success
// probabilities of this model by up to a hundredth of themselves. Without both it has the law of its weights.
const exact = {flashAttention: false, experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32"};
const context = await model.createContext({
    contextSize: model.trainContextSize,
    sequences: Number(options.sequences),
    threads: 1,
    ...(options.rounded ? {} : exact)
});

// Sequences are lent to one choice at a time, in the order of asking.
const idle = Array.from({length: Number(options.sequences)}, () => context.getSequence());
const waiting = [];
const borrow = () => (idle.length > 0 ? idle.pop() : new Promise((resolve) => waiting.push(resolve)));
const giveBack = (sequence) => (waiting.length > 0 ? waiting.shift()(sequence) : idle.push(sequence));

// BadRequest is a fault of the request: status 400 and OpenAI's error body.
class BadRequest extends Error {}

// number reads a field, absent or null for its default, and checks its range.
function number(request, field, absent, low, high, whole = false) {
    const x = request[field] ?? absent;
    if (typeof x !== "number" || !(x >= low && x <= high) || (whole && !Number.isInteger(x)))
        throw new BadRequest(`${field} = ${JSON.stringify(x)}, want ${whole ? "a whole number" : "a number"} in [${low}, ${high}]`);
    return x;
}

function readRequest(request, chat) {
    const prompt = chat
        ? request.messages?.filter?.((m) => m.role === "user").map((m) => m.content).join("")
        : request.prompt;
    if (typeof prompt !== "string" || prompt === "")
        throw new BadRequest(chat ? "messages: want at least one of role user" : "prompt: want a string");
    const limit = chat && request.max_completion_tokens != null ? "max_completion_tokens" : "max_tokens";
    const stop = [request.stop ?? []].flat();
    if (!stop.every((s) => typeof s === "string" && s !== ""))
        throw new BadRequest("stop: want a string or an array of strings");
    const tokens = [bos, ...model.tokenize(prompt)];
    const room = model.trainContextSize - tokens.length;
    if (room < 1)
        throw new BadRequest(`prompt has ${tokens.length} tokens, the context ${model.trainContextSize}`);
    return {
        tokens,
        stop,
        n: number(request, "n", 1, 1, MAX_CHOICES, true),
        seed: number(request, "seed", randomInt(2 ** 32), 0, Number.MAX_SAFE_INTEGER, true),
        logprobs: chat ? request.logprobs === true : request.logprobs != null && request.logprobs !== false,
        maxTokens: Math.min(room, number(request, limit, DEFAULT_MAX_TOKENS, 1, 2 ** 31, true)),
        sampler: {
            temperature: number(request, "temperature", 1, 0, 2),
            topP: number(request, "top_p", 1, 0, 1),
            topK: Math.max(0, number(request, "top_k", 0, -1, 2 ** 31, true)), // 0 and -1: all
            minP: number(request, "min_p", 0, 0, 1)
        },
        penalty: number(request, "repeat_penalty", 1, 0.1, 10) // of tokens that were there before, as in llama.cpp
    };
}

// streamSeed mixes seed and index into the 32 bits that llama.cpp takes (the finaliser of MurmurHash3, twice). Every
// choice must be handed one: without a seed the library takes the second of the clock, the same for all that it holds.
function streamSeed(seed, index) {
    const mix = (h) => {
        h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
        h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
        return (h ^ (h >>> 16)) >>> 0;
    };
    return mix(mix(mix(seed % 2 ** 32) ^ Math.floor(seed / 2 ** 32)) ^ (index + 1));
}

// stopsAt returns where the first of the stop texts begins, or -1.
function stopsAt(text, stop) {
    const found = stop.map((s) => text.indexOf(s)).filter((i) => i >= 0);
    return found.length > 0 ? Math.min(...found) : -1;
}

// complete draws one choice.
async function complete(job, index) {
    const sequence = await borrow();
    try {
        await sequence.clearHistory();
        const choice = {finish: "length", tokens: [], logprobs: []};
        const drawn = [];
        const sampler = {
            ...job.sampler,
            seed: streamSeed(job.seed, index),
            repeatPenalty: {penalty: job.penalty, punishTokens: () => [...job.tokens, ...drawn]},
            yieldEogToken: true
        };
        for await (const {token, confidence} of sequence.evaluateWithMetadata(job.tokens, {confidence: job.logprobs}, sampler)) {
            choice.tokens.push(token);
            if (job.logprobs)
                choice.logprobs.push(Math.log(confidence));
            if (token === eos) {
                choice.finish = "stop";
                break;
            }
            drawn.push(token);
            if (job.stop.length > 0 && stopsAt(model.detokenize(drawn), job.stop) >= 0) {
                choice.finish = "stop";
                break;
            }
            if (choice.tokens.length >= job.maxTokens)
                break;
        }
        const text = model.detokenize(drawn);
        const end = stopsAt(text, job.stop);
        completed++;
        return {...choice, text: end < 0 ? text : text.slice(0, end)};
    } finally {
        giveBack(sequence);
    }
}

const tokenText = (token) => (token === eos ? "</s>" : model.detokenize([token]));

function completionChoice(job, c, index) {
    const logprobs = job.logprobs
        ? {tokens: c.tokens.map(tokenText), token_logprobs: c.logprobs, top_logprobs: null, text_offset: null}
        : null;
    return {index, text: c.text, finish_reason: c.finish, logprobs};
}

function chatChoice(job, c, index) {
    const content = c.tokens.map((t, i) => ({token: tokenText(t), logprob: c.logprobs[i], bytes: null, top_logprobs: []}));
    return {index, message: {role: "assistant", content: c.text}, finish_reason: c.finish, logprobs: job.logprobs ? {content} : null};
}

// The server's own book, told by /health: requests answered and being answered, and completions.
let answered = 0;
let answering = 0;
let completed = 0;

async function answer(request, chat) {
    const job = readRequest(request, chat);
    const n = options["ignore-n"] ? 1 : job.n;
    const choices = await Promise.all(Array.from({length: n}, (_, i) => complete(job, i)));
    const completionTokens = choices.reduce((sum, c) => sum + c.tokens.length, 0);
    return {
        id: `${chat ? "chatcmpl" : "cmpl"}-${++answered}`,
        object: chat ? "chat.completion" : "text_completion",
        created: Math.floor(Date.now() / 1000),
        model: MODEL,
        choices: choices.map((c, i) => (chat ? chatChoice : completionChoice)(job, c, i)),
        usage: {
            prompt_tokens: job.tokens.length,
            completion_tokens: completionTokens,
            total_tokens: job.tokens.length + completionTokens
        }
    };
}

async function readBody(incoming) {
    let body = "";
    for await (const chunk of incoming) {
        body += chunk;
        if (body.length > MAX_BODY)
            throw new BadRequest(`body of more than ${MAX_BODY} bytes`);
    }
    try {
        return JSON.parse(body) ?? {};
    } catch (e) {
        throw new BadRequest(`body: ${e.message}`);
    }
}

const answerBody = async (incoming, chat) => answer(await readBody(incoming), chat);

// booked counts a request that is being answered.
async function booked(answer) {
    answering++;
    try {
        return await answer;
    } finally {
        answering--;
    }
}

async function route(incoming) {
    switch (`${incoming.method} ${incoming.url}`) {
        case "GET /health":
            return {status: "ok", answering, drawn: completed};
        case "GET /v1/models":
            return {object: "list", data: [{id: MODEL, object: "model", created: 0, owned_by: "vigorlab"}]};
        case "POST /v1/completions":
            return booked(answerBody(incoming, false));
        case "POST /v1/chat/completions":
            return booked(answerBody(incoming, true));
    }
}

function send(response, status, body) {
    response.writeHead(status, {"content-type": "application/json"});
    response.end(JSON.stringify(body));
}

const failure = (message, type) => ({error: {message, type, param: null, code: null}});

const server = http.createServer(async (incoming, response) => {
    try {
        const body = await route(incoming);
        if (body === undefined)
            send(response, 404, failure(`no ${incoming.method} ${incoming.url} here`, "invalid_request_error"));
        else
            send(response, 200, body);
    } catch (e) {
        if (e instanceof BadRequest)
            send(response, 400, failure(e.message, "invalid_request_error"));
        else
            send(response, 500, failure(String(e), "server_error"));
    }
});

for (const signal of ["SIGTERM", "SIGINT"])
    process.on(signal, () => process.exit(0));
if (options["exit-with-stdin"])
    process.stdin.on("end", () => process.exit(0)).resume();

server.listen(Number(options.port), "127.0.0.1", () =>
    console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
