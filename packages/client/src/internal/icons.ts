/** Removes icons with a scheme other than `https` and `data` (spec 2025-11-25: basic, icons). */
import type { Icon } from "@effect-mcp/protocol/model/Icon"

const isSafe = ({ src }: Icon): boolean => /^(https|data):/i.test(src)

/** Returns the same object unless it has an unsafe icon. */
export const withSafeIcons = <A extends { readonly icons?: ReadonlyArray<Icon> }>(item: A): A =>
  item.icons === undefined || item.icons.every(isSafe) ? item : { ...item, icons: item.icons.filter(isSafe) }
