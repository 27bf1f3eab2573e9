// An OTLP server for tests: node server.js NODE_MODULES. Prints its port. It reads requests with the messages that OpenTelemetry's own
// library generates, refuses whatever these do not know, and keeps what it got.
//
// PUT /faults: a list, one for each later request: {"code": 503, "headers": {}}, {"cut": true} (keeps it and breaks the connection),
// {"slow": MS} (keeps it and answers later), {"rejected": N}. GET /got: all it kept. DELETE /got.
"use strict";
const http = require("http");
const zlib = require("zlib");

const root = require(process.argv[2] + "/@opentelemetry/otlp-transformer/build/src/generated/root.js").opentelemetry.proto.collector;
const KINDS = {
  "/v1/traces": [root.trace.v1.ExportTraceServiceRequest, root.trace.v1.ExportTraceServiceResponse, "rejectedSpans"],
  "/v1/metrics": [root.metrics.v1.ExportMetricsServiceRequest, root.metrics.v1.ExportMetricsServiceResponse, "rejectedDataPoints"],
};
const LIMIT = 4 << 20;
let faults = [];
let got = [];

// As OTLP's JSON has it: ids are hexadecimal there.
function withIds(value, convert, key = "") {
  if (["traceId", "spanId", "parentSpanId"].includes(key)) return convert(value);
  if (Array.isArray(value)) return value.map((one) => withIds(one, convert));
  if (value === null || typeof value !== "object" || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withIds(one, convert, name)]));
}

function plain(kind, message) {
  return withIds(kind.toObject(message, { longs: String, bytes: Array, arrays: true }), (bytes) => Buffer.from(bytes).toString("hex"));
}

function assertKnown(given, known, where) {
  if (Array.isArray(given)) given.forEach((one, i) => assertKnown(one, known[i], `${where}[${i}]`));
  else if (given !== null && typeof given === "object") {
    for (const key of Object.keys(given)) {
      if (known === undefined || !(key in known)) throw new Error(`${where}.${key} is unknown`);
      assertKnown(given[key], known[key], `${where}.${key}`);
    }
  }
}

function assertNumbersAreStrings(value, key = "") {
  if (["startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "intValue"].includes(key) && typeof value !== "string")
    throw new Error(key + " must be a string");
  if (value !== null && typeof value === "object") Object.entries(value).forEach(([name, one]) => assertNumbersAreStrings(one, name));
}

function read(kind, type, body) {
  let message;
  if (type === "application/x-protobuf") {
    message = kind.decode(body);
    if (kind.encode(message).finish().length !== body.length) throw new Error("unknown fields");
  } else if (type === "application/json") {
    const given = JSON.parse(body.toString("utf8"));
    assertNumbersAreStrings(given);
    message = kind.fromObject(withIds(given, (hex) => {
      if (!/^([0-9a-f]{16}|[0-9a-f]{32})$/.test(hex)) throw new Error("id " + hex);
      return Buffer.from(hex, "hex");
    }));
    assertKnown(given, plain(kind, message), "request");
  } else {
    throw new Error("Content-Type " + type);
  }
  const problem = kind.verify(message);
  if (problem) throw new Error(problem);
  return plain(kind, message);
}

function answer(response, type, [, of, rejected], fault) {
  const message = fault.rejected ? { partialSuccess: { [rejected]: fault.rejected, errorMessage: "too old" } } : {};
  response.setHeader("Content-Type", type);
  response.end(type === "application/json" ? JSON.stringify(message).replace(/(rejected\w+":)(\d+)/, '$1"$2"')
    : Buffer.from(of.encode(of.fromObject(message)).finish()));
}

function admin(request, response, body) {
  if (request.method === "PUT") faults = JSON.parse(body);
  if (request.method === "DELETE") got = [];
  response.end(JSON.stringify(request.method === "GET" ? got : []));
}

function take(request, response, raw) {
  if (!(request.url in KINDS)) return admin(request, response, raw);
  const fault = faults.shift() || {};
  if (fault.code) {
    got.push({ path: request.url, code: fault.code, t: Date.now() });
    response.writeHead(fault.code, { "Content-Type": "text/plain", ...fault.headers });
    return response.end("busy\n");
  }
  const type = request.headers["content-type"];
  const body = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(raw) : raw;
  if (body.length > LIMIT) throw new Error(body.length + " bytes");
  const message = read(KINDS[request.url][0], type, body);
  got.push({ path: request.url, code: 200, t: Date.now(), type, headers: request.headers, size: body.length, message });
  if (fault.cut) return request.socket.destroy();
  setTimeout(() => answer(response, type, KINDS[request.url], fault), fault.slow || 0);
}

const server = http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    try {
      take(request, response, Buffer.concat(parts));
    } catch (error) {
      got.push({ path: request.url, code: 400, t: Date.now(), error: String(error) });
      response.writeHead(400);
      response.end(String(error));
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
