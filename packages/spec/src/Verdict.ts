/**
 * Decides from vitest's JSON report whether a test detected a fault, and which statements that test cites.
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

/** Decodes vitest's JSON report. */
export const decodeReport = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Struct({ testResults: Schema.Array(TestFile) }))
)

/** A run of vitest: its exit code, and its report by test file. */
export interface Run {
  readonly code: number
  readonly files: ReadonlyArray<typeof TestFile.Type>
}

/** The outcome of a fault. */
export type Verdict =
  | {
      readonly _tag: "Dies"
      /** The first failed test, or another reason for the failure. */
      readonly by: string
      /** Ids that the failed tests cite. */
      readonly cites: ReadonlySet<string>
    }
  | { readonly _tag: "Survives" }
  /** No test ran, for example because the test file doesn't load. The fault is then too coarse. */
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
