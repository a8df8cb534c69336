/** Form defaults, which a client may fill in for its user (`applyDefaults` in its capability). */

const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** Returns an accepted answer, with defaults for the fields that it lacks. */
export const withDefaults = (answer: unknown, params: object): unknown => {
  const schema = "requestedSchema" in params ? params.requestedSchema : undefined
  const properties = isObject(schema) ? schema["properties"] : undefined
  if (!isObject(answer) || answer["action"] !== "accept" || !isObject(answer["content"])) return answer
  if (!isObject(properties)) return answer
  const { content } = answer
  const missing = Object.entries(properties).flatMap(([name, field]) =>
    content[name] === undefined && isObject(field) && "default" in field ? [[name, field["default"]] as const] : []
  )
  return { ...answer, content: { ...content, ...Object.fromEntries(missing) } }
}
