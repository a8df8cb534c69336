/** Parses the arguments of `npm run requirements -- ...`, or explains why they are invalid. */
import { areas } from "./Ledger.ts"

export type Wish =
  | { readonly _tag: "Report" }
  | { readonly _tag: "Prove" }
  | { readonly _tag: "Help" }
  | { readonly _tag: "Wrong"; readonly message: string }

export const usage = `npm run requirements                           which statement is proven by which test
npm run requirements -- [--json] [AREA...]     the same, for these areas of the ledger only
npm run requirements -- --prove [N] [WORD...]  put the faults of the tables in, and expect the cited tests to fail:
                                               N of them, or those with a WORD in name, path or id
The first two run the whole test suite, unless a result of the same sources is at hand.
Areas: ${Object.keys(areas).join(", ")}`

/** Parses the arguments. Words after `--prove` select rows of faults that contain them. */
export const parse = (args: ReadonlyArray<string>): Wish => {
  if (args.includes("--help") || args.includes("-h")) return { _tag: "Help" }
  const isProof = args.includes("--prove")
  const flags = isProof ? ["--prove"] : ["--json"]
  const flag = args.find((arg) => arg.startsWith("-") && !flags.includes(arg))
  if (flag !== undefined) return { _tag: "Wrong", message: `${flag} is no flag here` }
  if (isProof) return { _tag: "Prove" }
  const area = args.find((arg) => !arg.startsWith("-") && !Object.hasOwn(areas, arg))
  return area === undefined ? { _tag: "Report" } : { _tag: "Wrong", message: `${area} is no area of the ledger` }
}
