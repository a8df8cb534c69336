/** Faults of the core, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { statements } from "./faults/statements.ts"

const framing = "packages/core/src/transport/Framing.ts"
const framingTest = "packages/core/test/transport/Framing.model.test.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  {
    name: "cancelled requests are kept for ever",
    file: "packages/core/src/peer/Outbound.ts",
    from: "const maxCancelled = 64",
    to: "const maxCancelled = Infinity",
    test: "packages/core/test/peer/Peer.outbound.test.ts"
  },
  {
    name: "A small chunk before a large one swaps them",
    file: framing,
    from: "      this.gather()\n      this.parts.push(part)",
    to: "      this.parts.push(part)",
    test: framingTest,
    ids: ["stdio.framing.newline"]
  },
  {
    name: "A byte order mark at the beginning of a line inside a chunk is part of its text",
    file: framing,
    from: 'if (text !== undefined && !text.includes("\\uFEFF"))',
    to: "if (text !== undefined)",
    test: framingTest,
    ids: ["transport.encoding.utf-8"]
  },
  {
    name: "twice the limit is kept of a line that does not end",
    file: framing,
    from: "if (this.size <= Math.max(this.limit, edgeBytes)) return",
    to: "if (this.size <= 2 * Math.max(this.limit, edgeBytes)) return",
    test: framingTest
  },
  {
    name: "Answers that were sent are counted for ever",
    file: "packages/core/src/transport/Outbox.ts",
    from: "else this.control -= entry.text.length",
    to: "",
    test: "packages/core/test/transport/Outbox.test.ts"
  },
  {
    name: "Ids start over when nothing waits",
    file: "packages/core/src/peer/Outbound.ts",
    from: "id = this.nextId++",
    to: "id = waiting.size === 0 ? (this.nextId = 1) : this.nextId++",
    test: "packages/core/test/peer/Peer.outbound.test.ts",
    ids: ["json-rpc.request.id-unique"]
  },
  {
    name: "baggage is forwarded under another name",
    file: "packages/core/src/peer/parentOf.ts",
    from: "? { baggage } : undefined",
    to: "? { baggage: baggage.toUpperCase() } : undefined",
    test: "packages/testing/test/TraceContext.test.ts",
    project: "testing",
    ids: ["meta.trace.format"]
  }
]
