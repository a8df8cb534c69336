/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the page answers requests for any host name",
    file: "packages/ui/src/Ui.ts",
    from: `if (headers["host"] !== authority) return refused(403)`,
    to: "",
    test: "packages/ui/test/Ui.test.ts"
  },
  {
    name: "the page takes commands from pages of other sites",
    file: "packages/ui/src/Ui.ts",
    from: 'return headers["origin"] === `http://${authority}` ? yield* posted(session) : refused(403)',
    to: "return yield* posted(session)",
    test: "packages/ui/test/Ui.test.ts"
  },
  {
    name: "the page needs no token",
    file: "packages/ui/src/Ui.ts",
    from: "if (!path.startsWith(base)) return refused(404)",
    to: "",
    test: "packages/ui/test/Ui.test.ts"
  },
  {
    name: "links of a server run scripts",
    file: "packages/ui/src/page/Markdown.tsx",
    from: "/^(?:https?|mailto):/i.test(href)",
    to: "/^/.test(href)",
    test: "packages/ui/test/page/Markdown.test.ts"
  },
  {
    name: "the wire shows tokens",
    file: "packages/ui/src/session/Recorder.ts",
    from: "secret.test(name)",
    to: "name === secret.source",
    test: "packages/ui/test/session/Recorder.test.ts"
  },
  {
    name: "a server can fill the memory with messages",
    file: "packages/ui/src/messages/apply.ts",
    from: " || (text += size(item)) > mostText",
    to: "",
    test: "packages/ui/test/session/Recorder.test.ts"
  },
  {
    name: "other users of the machine can read the history",
    file: "packages/ui/src/session/History.ts",
    from: "{ flag, mode: 0o600 }",
    to: "{ flag, mode: 0o644 }",
    test: "packages/ui/test/session/History.test.ts"
  },
  {
    name: "other pages of this machine may load the page",
    file: "packages/ui/src/Ui.ts",
    from: '["same-origin", "none", undefined]',
    to: '["same-origin", "same-site", "none", undefined]',
    test: "packages/ui/test/Ui.test.ts"
  },
  {
    name: "a form that contains itself has no end",
    file: "packages/ui/src/page/schema.ts",
    from: "required || depth > mostDepth || room.left-- <= 0",
    to: "required || depth > mostDepth",
    test: "packages/ui/test/page/schema.test.ts"
  },
  {
    name: "a server can fill the memory with results",
    file: "packages/ui/src/messages/apply.ts",
    from: "size, mostRunText)",
    to: "size, Infinity)",
    test: "packages/ui/test/messages/apply.test.ts"
  }
]
