/**
 * Creates a value on first use and keeps it. A process only uses a few of the schemas, and shouldn't create the rest on
 * startup.
 */
export const lazy = <A>(make: () => A): (() => A) => {
  let made: A | undefined
  return () => (made ??= make())
}
