/** Faults of the protocol, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const jsonRpc = "packages/protocol/src/wire/JsonRpc.ts"
const jsonRpcTest = "packages/protocol/test/wire/JsonRpc.test.ts"

const excerpt = "packages/protocol/src/Excerpt.ts"
const excerptTest = "packages/protocol/test/Excerpt.test.ts"

const plainCopy = "packages/protocol/src/schema/PlainCopy.ts"
const plainCopyTest = "packages/protocol/test/schema/PlainCopy.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "The copy of a plain value lets a key set its prototype",
    file: plainCopy,
    from: 'if (key === "__proto__") Object.defineProperty(out, key, { ...ownField, value: copied })\n    else out[key] = copied',
    to: "out[key] = copied",
    test: plainCopyTest
  },
  {
    name: "The copy of a plain value drops the rest where a key is optional and absent",
    file: plainCopy,
    from: "if (optional) continue",
    to: "if (optional) break",
    test: plainCopyTest
  },
  {
    name: "The copy of a plain value has a number that JSON has not",
    file: plainCopy,
    from: 'if (typeof value !== "object") return Number.isFinite(value)',
    to: 'if (typeof value !== "object") return typeof value === "number"',
    test: plainCopyTest
  },
  {
    name: "An argument that is annotated after a check has no header",
    file: "packages/protocol/src/schema/JsonSchema.ts",
    from: "isScalar(out) && new Set",
    to: "false && new Set",
    test: "packages/protocol/test/schema/HeaderAnnotations.test.ts"
  },
  {
    name: "A client sends no header for an argument whose key is annotated",
    file: "packages/protocol/src/schema/HeaderAnnotations.ts",
    from: "[ast.context, ast, ",
    to: "[ast, ",
    test: "packages/protocol/test/schema/HeaderAnnotations.test.ts"
  },
  {
    name: "A client sends the header of a value whose key has another one",
    file: "packages/protocol/src/schema/HeaderAnnotations.ts",
    from: "[ast.context, ast, ",
    to: "[ast, ast.context, ",
    test: "packages/protocol/test/schema/HeaderAnnotations.test.ts"
  },
  {
    name: "A client sends no header for a suspended argument",
    file: "packages/protocol/src/schema/HeaderAnnotations.ts",
    from: "...annotated(ast.thunk(), within), ",
    to: "",
    test: "packages/protocol/test/schema/HeaderAnnotations.test.ts"
  },
  {
    name: "A client sends no header for an argument that is annotated after a check",
    file: "packages/protocol/src/schema/HeaderAnnotations.ts",
    from: "...(ast.checks ?? [])",
    to: "",
    test: "packages/protocol/test/schema/HeaderAnnotations.test.ts"
  },
  {
    name: "Bidirectional, zero width and tag characters of another party are shown as they are",
    file: excerpt,
    from: "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]",
    to: "[\\p{Cc}]",
    test: excerptTest
  },
  {
    name: "The beginning of a text ends in half of a surrogate pair",
    file: excerpt,
    from: "last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit",
    to: "limit",
    test: excerptTest
  },
  {
    name: "An excerpt is longer than its limit by an escape",
    file: excerpt,
    from: "if (next.length > limit) break",
    to: "if (next.length > limit + 6) break",
    test: excerptTest
  },
  {
    name: "The message of a schema's error keeps control characters, and any length",
    file: "packages/protocol/src/revision/Codecs.ts",
    from: 'excerpt(error.message.replaceAll("\\n  at ", " at ").replaceAll("\\n", "; "), 1000)',
    to: 'error.message.replaceAll("\\n  at ", " at ").replaceAll("\\n", "; ")',
    test: "packages/protocol/test/revision/Codec.test.ts"
  },
  {
    name: "A plain result holds line ends of Unicode",
    file: jsonRpc,
    from: 'return oneLine(JSON.stringify({ jsonrpc: "2.0", id, result }))',
    to: 'return JSON.stringify({ jsonrpc: "2.0", id, result })',
    test: jsonRpcTest
  },
  {
    name: "A result that is text already holds line ends of Unicode",
    file: jsonRpc,
    from: '"result":${oneLine(text)}}`',
    to: '"result":${text}}`',
    test: jsonRpcTest
  },
  {
    name: "An id beside a result that is text already holds line ends of Unicode",
    file: jsonRpc,
    from: '"id":${oneLine(JSON.stringify(id))},',
    to: '"id":${JSON.stringify(id)},',
    test: jsonRpcTest
  },
  {
    name: "Fields beside the params of a progress notification are lost",
    file: "packages/protocol/src/wire/JsonLine.ts",
    from: '  for (const key in message) if (key !== "jsonrpc" && key !== "method" && key !== "params") return undefined\n',
    to: "",
    test: jsonRpcTest
  },
  {
    name: "A header that holds a marked text is compared without being decoded",
    file: "packages/protocol/src/wire/Headers.ts",
    from: "header !== undefined && header === body && plainest.test(header)",
    to: "header !== undefined && header === body",
    test: "packages/protocol/test/wire/Headers.test.ts",
    ids: ["http.headers.decoded"]
  },
  {
    name: "A progress token may be a fraction",
    file: "packages/protocol/src/model/Meta.ts",
    from: "export const ProgressToken = Schema.Union([Schema.String, Schema.Int])",
    to: "export const ProgressToken = Schema.Union([Schema.String, Schema.Finite])",
    test: "packages/protocol/test/model/Meta.test.ts"
  },
  {
    name: "a reference out of the schema is accepted",
    file: "packages/protocol/src/schema/PreparedSchema.ts",
    from: "if ($ref !== undefined && target(lookup, node) === undefined) {",
    to: 'if ($ref?.toString().startsWith("https:") !== true && $ref !== undefined && target(lookup, node) === undefined) {',
    test: "packages/protocol/test/schema/JsonSchemaValidator.test.ts",
    ids: ["tools.security.references"]
  },
  {
    name: "a copy takes keys of a record as they are, though the schema changes them",
    file: "packages/protocol/src/schema/PlainCopy.ts",
    from: " && parameter.encoding === undefined",
    to: "",
    test: "packages/protocol/test/schema/PlainCopy.test.ts"
  },
  {
    name: "a copy does not hold fields against the record beside them",
    file: "packages/protocol/src/schema/PlainCopy.ts",
    from: ' || (named && type._tag !== "Unknown")',
    to: "",
    test: "packages/protocol/test/schema/PlainCopy.test.ts"
  }
]
