/** What all interpreters of questions share: whether the client can be asked (capability, revision), and which question has which key. */
import { canonicalJson, digest } from "../internal/digest.ts"
import { type ClientDeclaration, elicitationModes, type QuestionMethod, samplingCapabilities } from "./ClientInput.ts"

/** The declaration that a question needs and the client lacks, dotted; undefined when the client can be asked. */
export const missingCapability = (
  method: QuestionMethod,
  params: object | undefined,
  asked: ClientDeclaration
): string | undefined => {
  const { capabilities } = asked
  if (method === "roots/list") return capabilities.roots === undefined ? "roots" : undefined
  const fields: { readonly [field: string]: unknown } = { ...params }
  if (method === "elicitation/create") {
    const mode = fields.mode === "url" ? "url" : "form"
    return elicitationModes(asked)[mode] ? undefined : `elicitation.${mode}`
  }
  if (capabilities.sampling === undefined) return "sampling"
  const can = samplingCapabilities(asked)
  if ((fields.tools !== undefined || fields.toolChoice !== undefined) && !can.tools) return "sampling.tools"
  const wantsContext = fields.includeContext === "thisServer" || fields.includeContext === "allServers"
  return wantsContext && !can.context ? "sampling.context" : undefined
}

/**
 * The key of a question and its answer where requests are replayed. The params are part of it: a changed question never gets the answer to
 * what it was before. `count`: how often it was asked before, undefined where all that ask it get one answer.
 */
export const questionKey = (
  method: string,
  params: unknown,
  given: string | undefined,
  count: (text: string) => number | undefined
): { readonly text: string; readonly key: string } => {
  const text = `${given ?? method}:${digest(`${method} ${canonicalJson(params)}`)}`
  const n = count(text)
  return { text, key: n === undefined ? text : `${text}#${n}` }
}
