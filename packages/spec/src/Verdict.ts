/**
 * What a run of vitest says of a fault: whether a test noticed it, and which statements that test cites.
 *
 * Pure. Reads the JSON report of vitest, of which it wants a few fields.
 */
import * as Schema from "effect/Schema"

const Test = Schema.Struct({
  fullName: Schema.String,
  status: Schema.String,
  meta: Schema.Struct({ requirements: Schema.optionalKey(Schema.Array(Schema.String)) })
})

const TestFile = Schema.Struct({
  name: Schema.String,
  status: Schema.String,
  message: Schema.String,
  assertionResults: Schema.Array(Test)
})

/** Reads the JSON report of vitest. */
export const decodeReport = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Struct({ testResults: Schema.Array(TestFile) }))
)

/** A run of vitest: its exit code, and its report by test file. */
export interface Run {
  readonly code: number
  readonly files: ReadonlyArray<typeof TestFile.Type>
}

/** What became of a fault. */
export type Verdict =
  | {
      readonly _tag: "Dies"
      /** The first test that failed, or what else went wrong. */
      readonly by: string
      /** The ids that the failed tests cite. */
      readonly cites: ReadonlySet<string>
    }
  | { readonly _tag: "Survives" }
  /** No test ran, so that the fault is too coarse: such a test file does not load. */
  | { readonly _tag: "NotTested"; readonly why: string }

/** Judges a fault by the run of its test. */
export const verdictOf = ({ code, files }: Run): Verdict => {
  const tests = files.flatMap((file) => file.assertionResults)
  if (tests.length === 0) return { _tag: "NotTested", why: files[0]?.message ?? "There is no such test file." }
  const failed = tests.filter(({ status }) => status === "failed")
  const cites = new Set(failed.flatMap(({ meta }) => meta.requirements ?? []))
  const [first] = failed
  if (first !== undefined) return { _tag: "Dies", by: first.fullName, cites }
  return code === 0 ? { _tag: "Survives" } : { _tag: "Dies", by: "an error outside of every test", cites }
}
