/** Types for the variables in a URI template (RFC 6570). */

/** Values of a template's variables. `{list*}` has an array of values. */
export type Variables = { readonly [variable: string]: string | ReadonlyArray<string> }

/** The name of a variable, without its modifier. */
type Bare<V extends string> = V extends `${infer Name}*` ? Name : V extends `${infer Name}:${string}` ? Name : V
/** Variables in a comma-separated list. `Missing` is `undefined` for variables that a URI may omit. */
type Listed<List extends string, Missing> = List extends `${infer First},${infer Rest}`
  ? Listed<First, Missing> & Listed<Rest, Missing>
  : { readonly [Name in Bare<List>]: (List extends `${string}*` ? string | ReadonlyArray<string> : string) | Missing }
type Expression<E extends string> = E extends `${"?" | "&"}${infer List}`
  ? Listed<List, undefined>
  : E extends `${"+" | "#" | "." | "/" | ";"}${infer List}`
    ? Listed<List, never>
    : Listed<E, never>

/** The variables in a template literal. If the template isn't known at compile time, any name is possible. */
export type VariablesOf<T extends string> = string extends T
  ? Variables
  : T extends `${string}{${infer E}}${infer Rest}`
    ? Expression<E> & VariablesOf<Rest>
    : unknown

/** Checks completers against the template: a name that isn't one of its variables is a compile error. */
export interface NamedCompleters<T extends string, C> {
  readonly uriTemplate: T
  readonly complete?: (C & Stray<C, VariablesOf<T>>) | undefined
}
type Stray<C, V> = string extends keyof C
  ? unknown
  : { readonly [K in Exclude<keyof C, keyof V>]: { readonly "The template has no variable with this name": K } }
