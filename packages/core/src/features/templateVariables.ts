/** Types of the variables that the text of a URI template names (RFC 6570). */

/** The values of a template's variables in a URI; several for `{list*}`. */
export type Variables = { readonly [variable: string]: string | ReadonlyArray<string> }

/** A variable of a list in a template, without its modifier. */
type Bare<V extends string> = V extends `${infer Name}*` ? Name : V extends `${infer Name}:${string}` ? Name : V
/** The variables of a list. `Missing` is `undefined` for variables that a URI may lack. */
type Listed<List extends string, Missing> = List extends `${infer First},${infer Rest}`
  ? Listed<First, Missing> & Listed<Rest, Missing>
  : { readonly [Name in Bare<List>]: (List extends `${string}*` ? string | ReadonlyArray<string> : string) | Missing }
type Expression<E extends string> = E extends `${"?" | "&"}${infer List}`
  ? Listed<List, undefined>
  : E extends `${"+" | "#" | "." | "/" | ";"}${infer List}`
    ? Listed<List, never>
    : Listed<E, never>

/** The variables that the text of a template names. A text that is not known when the program is compiled may have any. */
export type VariablesOf<T extends string> = string extends T
  ? Variables
  : T extends `${string}{${infer E}}${infer Rest}`
    ? Expression<E> & VariablesOf<Rest>
    : unknown

/** Relates the completers of a template to its text: the name of another variable is a type error. */
export interface NamedCompleters<T extends string, C> {
  readonly uriTemplate: T
  readonly complete?: (C & Stray<C, VariablesOf<T>>) | undefined
}
type Stray<C, V> = string extends keyof C
  ? unknown
  : { readonly [K in Exclude<keyof C, keyof V>]: { readonly "The template has no variable of this name": K } }
