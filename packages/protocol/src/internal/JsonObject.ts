/** JSON objects, told from arrays and null: the one test that every package uses, by way of `model/Shape`. */

export type JsonObject = { readonly [key: string]: unknown }

/** Whether a value is an object, but neither null nor an array. */
export const isJsonObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)
