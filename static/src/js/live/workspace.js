// @ts-check
// What the server keeps of one person's view of a tree.

import { json } from "./api.js";

// A request may outlive its page only where it is small: browsers stop at 64 KiB.
const SMALL = 16_000;

/** The server's side of a workspace's drafts. @param {string} workspace @returns {import("./drafts.js").Server} */
export function draftsAt(workspace) {
  const url = `/api/workspaces/${workspace}/drafts`;
  return {
    list: () => json(url),
    keep: ({ slot, kind }, text, seen) => json(`${url}/${slot}`, { method: "PUT", body: { kind, text, seen }, keepalive: text.length < SMALL }),
  };
}
