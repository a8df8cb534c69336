/** Faults of the protocol, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const excerpt = "packages/protocol/src/Excerpt.ts"
const excerptTest = "packages/protocol/test/Excerpt.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "Bidirectional, zero width and tag characters of another party are shown unescaped",
    file: excerpt,
    from: "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]",
    to: "[\\p{Cc}]",
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
    name: "The message of a schema's error keeps control characters, and has no limit",
    file: "packages/protocol/src/revision/Codecs.ts",
    from: 'excerpt(error.message.replaceAll("\\n  at ", " at ").replaceAll("\\n", "; "), 1000)',
    to: 'error.message.replaceAll("\\n  at ", " at ").replaceAll("\\n", "; ")',
    test: "packages/protocol/test/revision/Codec.test.ts"
  },
  {
    name: "A header that contains a marked text is compared without being decoded",
    file: "packages/protocol/src/wire/Headers.ts",
    from: "header !== undefined && header === body && plainest.test(header)",
    to: "header !== undefined && header === body",
    test: "packages/protocol/test/wire/Headers.test.ts",
    ids: ["http.headers.decoded"]
  },
  {
    name: "a reference out of the schema is accepted",
    file: "packages/protocol/src/schema/PreparedSchema.ts",
    from: "if ($ref !== undefined && target(lookup, node) === undefined) {",
    to: 'if ($ref?.toString().startsWith("https:") !== true && $ref !== undefined && target(lookup, node) === undefined) {',
    test: "packages/protocol/test/schema/JsonSchemaValidator.test.ts",
    ids: ["tools.security.references"]
  }
]
