/** Checks whether the client supports a question, no matter how the question is sent. */
import { type ClientDeclaration, elicitationModes, type QuestionMethod, samplingCapabilities } from "./ClientInput.ts"

/** Returns the dotted name of the capability the client is missing, or `undefined` if it supports the question. */
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
