// Reads spans as nemo-lens' console exporter prints them from stdin, and sends them with the real SDK of
// OpenTelemetry, to where OTEL_EXPORTER_OTLP_ENDPOINT says: node relay.js NODE_MODULES proto|http
"use strict";
const path = require("path");
const readline = require("readline");
const [modules, protocol] = process.argv.slice(2);
const load = (name) => require(path.join(modules, "@opentelemetry", name));
const {BasicTracerProvider, BatchSpanProcessor} = load("sdk-trace-base");
const {resourceFromAttributes} = load("resources");
const {OTLPTraceExporter} = load("exporter-trace-otlp-" + protocol);
const {SpanStatusCode, ROOT_CONTEXT} = load("api");

// The program that it stands for is told to end; this one ends after it.
for (const signal of ["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCONT"]) process.on(signal, () => {});

let provider = null;
const nanoseconds = (text) => {
  const [, seconds, micro] = text.match(/^(.*)\.(\d{6})Z$/);
  return [Date.parse(seconds + "Z") / 1000, Number(micro) * 1000];
};
readline.createInterface({input: process.stdin}).on("line", (line) => {
  if (!line.startsWith('{"name"')) return;
  const from = JSON.parse(line);
  provider ??= new BasicTracerProvider({
    resource: resourceFromAttributes(from.resource.attributes),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const span = provider.getTracer("relay").startSpan(
      from.name, {startTime: nanoseconds(from.start_time), attributes: from.attributes}, ROOT_CONTEXT);
  if (from.status.status_code === "ERROR") span.setStatus({code: SpanStatusCode.ERROR});
  span.end(nanoseconds(from.end_time));
}).on("close", async () => {
  if (provider) await provider.shutdown();
});
