/** Makes a value when it is first needed and keeps it: one process uses few of all schemas, and its start does not wait for the rest. */
export const lazy = <A>(make: () => A): (() => A) => {
  let made: A | undefined
  return () => (made ??= make())
}
