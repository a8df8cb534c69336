// What every server under test serves: the same 50 tools and one resource. Boring on purpose: implementations are compared, not tools.
export const info = { name: "bench", version: "1.0.0" }
export const modern = "2026-07-28"
/** Besides echo, add, wait and flood. The growth suite sets BENCH_TOOLS. */
export const fillers = Array.from(
  { length: Number(process.env.BENCH_TOOLS ?? 50) - 4 },
  (_, i) => `tool_${String(i).padStart(2, "0")}`
)
export const echo = { name: "echo", description: "Returns its text unchanged" }
export const add = { name: "add", description: "Adds two numbers" }
export const wait = { name: "wait", description: "Returns its text after a millisecond" }
/** How long `wait` waits, in milliseconds: about as long as a query of a database nearby. */
export const waits = 1
export const flood = { name: "flood", description: "Emits n progress notifications, then returns" }
// Of servers with tasks, in place of two fillers.
export const report = { name: "report", description: "Returns its text unchanged, as a task if asked to" }
export const hold = { name: "hold", description: "Never ends" }
export const descriptionOf = (name) => `Filler tool ${name}: searches the catalogue and returns the matching rows`
export const queryDescription = "What to look for"
export const limitDescription = "At most this many rows"
export const resource = { uri: "bench://readme", name: "readme", mimeType: "text/plain", text: "hello resource" }

// As JSON Schema, for those that take it.
export const echoSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
export const addSchema = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"]
}
export const sumSchema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] }
export const floodSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
export const fillerSchema = {
  type: "object",
  properties: {
    query: { type: "string", description: queryDescription },
    limit: { type: "number", description: limitDescription }
  },
  required: ["query"]
}
export const flag = (name) => process.argv.includes(`--${name}`)
/** Every HTTP server says on stderr where it accepts connections. */
export const ready = (port) => process.stderr.write(`READY ${port}\n`)
