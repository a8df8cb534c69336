/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { consoleFaults } from "./console/faults.ts"

export const faults: ReadonlyArray<Fault> = [
  ...consoleFaults,
  {
    name: "the bytes of event streams are not counted",
    file: "packages/server/src/http/response/SseBody.ts",
    from: 'if (text !== "") this.written?.(text)',
    to: "",
    test: "packages/operate/test/telemetry/Streams.test.ts"
  },
  {
    name: "an audit trail has the value of a redacted argument",
    file: "packages/operate/src/audit/entries.ts",
    from: 'redact.includes(key) ? "[redacted]" : inner',
    to: "redact.includes(key) ? inner : inner",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "a token that may only see interrupts",
    file: "packages/operate/src/admin/Access.ts",
    from: 'wanted === "steer" && right === "see"',
    to: 'wanted !== "steer" && right !== "see" && false',
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "the admin endpoint answers a name that was rebound",
    file: "packages/operate/src/admin/Access.ts",
    from: "return rebound === undefined ? undefined : forbidden(rebound)",
    to: "return rebound === undefined ? undefined : undefined",
    test: "packages/operate/test/admin/Admin.test.ts"
  },
  {
    name: "a password with an @ in it stays in a URI",
    file: "packages/protocol/src/Excerpt.ts",
    from: "[^/\\\\]*@/",
    to: "[^/\\\\@]*@/",
    test: "packages/testing/test/Spans.test.ts"
  },
  {
    name: "the token of top goes to any host in plain text",
    file: "packages/cli/src/top/Place.ts",
    from: 'protocol === "https:" ||',
    to: 'protocol !== "" ||',
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the socket of the admin endpoint is open to others",
    file: "packages/operate/src/admin/PrivateSocket.ts",
    from: "process.umask(0o177)",
    to: "process.umask(0o022)",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "a file in the place of a socket is deleted",
    file: "packages/operate/src/admin/PrivateSocket.ts",
    from: "stat?.isSocket() === true",
    to: "stat !== undefined",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "top sends to the socket of another user",
    file: "packages/cli/src/top/Place.ts",
    from: "file.uid !== user",
    to: "file.uid === user",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the text of a structured result shows an operator what its redaction hides",
    file: "packages/operate/src/admin/Messages.ts",
    from: "? redactedText(inner, redact) : inner",
    to: "? inner : inner",
    test: "packages/operate/test/admin/Steer.test.ts"
  }
]
