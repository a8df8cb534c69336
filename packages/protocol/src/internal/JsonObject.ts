/** JSON objects, as opposed to arrays and null. All packages use this check, through `model/Shape`. */

export type JsonObject = { readonly [key: string]: unknown }

/** True if a value is an object, but not null or an array. */
export const isJsonObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null && !Array.isArray(u)
