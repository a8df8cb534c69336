/**
 * Validates values with a Standard Schema, running the program's code only once per value.
 *
 * Zod's own `validate` runs refinements and, if one of them returns a promise, runs them all again. The first promise is dropped, so if it
 * rejects, the process crashes. That's why zod schemas with such code are parsed with `safeParseAsync` instead.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"

/** The part of a zod schema that is used here. */
interface Zod<A> {
  readonly _zod: { readonly def: object }
  readonly safeParseAsync: (
    value: unknown
  ) => Promise<
    | { readonly success: true; readonly data: A }
    | { readonly success: false; readonly error: { readonly issues: ReadonlyArray<StandardSchemaV1.Issue> } }
  >
}

const isNode = (u: object): u is Pick<Zod<unknown>, "_zod"> =>
  "_zod" in u && typeof u._zod === "object" && u._zod !== null && "def" in u._zod

/** Zod 4, classic or mini. */
const isZod = <A>(u: StandardSchemaV1<unknown, A>): u is StandardSchemaV1<unknown, A> & Zod<A> =>
  isNode(u) && "safeParseAsync" in u && typeof u.safeParseAsync === "function"

/** Functions of a definition whose result zod never awaits, and getters that call the program. */
const synchronous = new Set(["catchValue", "defaultValue", "error", "getter", "tx", "when"])

/** True if a part of a zod schema calls a function that may return a promise. */
const callsProgram = (part: unknown, seen: Set<object>): boolean => {
  if (typeof part === "function" && !("_zod" in part)) return true
  if (part === null || (typeof part !== "object" && typeof part !== "function") || seen.has(part)) return false
  seen.add(part)
  if (Array.isArray(part)) return part.some((one) => callsProgram(one, seen))
  if (!isNode(part)) return plain(part) && Object.values(part).some((one) => callsProgram(one, seen))
  const { def } = part._zod
  if ("type" in def && def.type === "promise") return true
  // `z.check(f)` keeps its function outside of the definition.
  if ("check" in def && def.check === "custom") return true
  if ("innerType" in part._zod && callsProgram(part._zod.innerType, seen)) return true
  return Object.keys(def).some((key) => !synchronous.has(key) && callsProgram(Reflect.get(def, key), seen))
}
const plain = (part: object): boolean => [Object.prototype, null].includes(Object.getPrototypeOf(part))

/** The schema's `validate`, which calls each refinement and transformation once. */
export const validateOnce = <A>(
  schema: StandardSchemaV1<unknown, A>
): StandardSchemaV1<unknown, A>["~standard"]["validate"] => {
  if (!isZod(schema) || !callsProgram(schema, new Set())) return schema["~standard"].validate
  return async (value) => {
    const parsed = await schema.safeParseAsync(value)
    return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues }
  }
}
