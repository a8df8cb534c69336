import { at, parse } from "./json.ts"
import type { Model } from "./Model.ts"

/** Records that the transport rejected a text, so its malformed requests get no response. */
export const notTaken = (text: string, { exchanges }: Model): void => {
  const json = parse(text)
  const ids = (Array.isArray(json) ? json : [json]).map((member: unknown) => JSON.stringify(at(member, "id")))
  for (const exchange of exchanges) {
    const { answer, wellFormed } = exchange
    if (!wellFormed && answer === undefined && ids.includes(JSON.stringify(exchange.id))) exchange.refused = true
  }
}
