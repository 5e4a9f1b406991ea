// SPDX-License-Identifier: Apache-2.0
// Shown when the server wants a login.
import { useState } from "preact/hooks";
import type { ProblemDocument } from "../data/client";
import { cut } from "../widgets/format";
import { useRoute } from "./navigation";
import { client, problemFrom } from "./session";
import { ProblemNote } from "./states";

// Only an address of this application: a link must not lead to another site after the login.
const safeTarget = (to: string | null): string => (to && /^\/(?![/\\])/.test(to) ? to : "/");

const USER_KEY = "neurolens-user";

function rememberUser(name: string | null): void {
  try {
    if (name === null) sessionStorage.removeItem(USER_KEY);
    else sessionStorage.setItem(USER_KEY, name);
  } catch {
    // Without storage the header does not show the name.
  }
}

function knownUser(): string | null {
  try {
    return sessionStorage.getItem(USER_KEY);
  } catch {
    return null;
  }
}

// Who logged in on this page, and what ends that.
export function UserMenu() {
  const user = knownUser();
  if (user === null) return null;
  const leave = () => {
    client
      .fetch("/api/v1/logout", { method: "POST" })
      .catch(() => {})
      .finally(() => {
        rememberUser(null);
        location.assign("/login");
      });
  };
  return (
    <button type="button" onClick={leave} title={`Logged in as ${cut(user, 60)}`}>
      Log out
    </button>
  );
}

export function LoginView() {
  const route = useRoute();
  const [problem, setProblem] = useState<ProblemDocument | null>(null);
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const body = JSON.stringify({ name: fields.get("name"), password: fields.get("password") });
    client
      .fetch("/api/v1/login", { method: "POST", body, headers: { "Content-Type": "application/json" } })
      .then(() => {
        rememberUser(String(fields.get("name")));
        location.replace(safeTarget(route.fields.get("to"))); // everything is loaded again, as this user
      })
      .catch((error) => setProblem(problemFrom(error)));
  };
  return (
    <section class="login">
      <h1>Log in</h1>
      <form onSubmit={onSubmit}>
        <label>
          Name <input name="name" autocomplete="username" required />
        </label>
        <label>
          Password <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit">Log in</button>
      </form>
      {problem && <ProblemNote problem={problem} />}
    </section>
  );
}
