import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { MirrorTrust } from '../page-data/page-data.ts';
import { formatInstant } from './format.ts';
import { component, html } from './html.ts';
import { liveState } from './live-data.ts';
import { route } from './navigation.ts';
import type { PageQuery } from './page-source.ts';
import { liveView, useLiveQueries } from './parts/live-view.ts';
import { notice } from './parts/notice.ts';
import { TermTips } from './parts/term.ts';
import { age } from './parts/time.ts';
import { reportData } from './report-data.ts';
import { formatRoute, VIEWS, type ViewName } from './route.ts';
import { forgetToken, isTokenRefused, token } from './token.ts';
import { tokenForm, tokenOffer } from './token-form.ts';
import type { ViewFrame } from './view-frame.ts';
import { assetView } from './views/asset.ts';
import { failingView } from './views/failing.ts';
import { mirrorView } from './views/mirror.ts';
import { trendsView } from './views/trends.ts';
import { untestedView } from './views/untested.ts';

/** `show` shows one environment; a view without it shows the whole mirror. */
const PAGE_VIEWS: Readonly<Record<ViewName, { short: string; question: string; show?(frame: ViewFrame): VNode }>> = {
  mirror: { short: 'Trust', question: 'Can I trust this mirror?' },
  failing: { short: 'Failing', question: 'What fails now?', show: failingView },
  trends: { short: 'Trend', question: 'Is it getting better?', show: trendsView },
  untested: { short: 'Untested', question: 'What is untested and matters?', show: untestedView },
  asset: { short: 'Lineage', question: 'What is upstream and downstream of an asset?', show: assetView },
};

const MIRROR: PageQuery<'mirror'> = { name: 'mirror', env: null, parameters: {} };

export function App(): VNode {
  useLiveQueries([MIRROR]);
  const { view } = route.value;
  const heading = useFocusOnChange(view);
  const { short, question } = PAGE_VIEWS[view];
  document.title = `${question} · obsync`;
  return html`<div class="shell">
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    ${header()}
    <main id="content" tabindex="-1" aria-label=${short}>
      <h1 ref=${heading} tabindex="-1">${question}</h1>
      ${tokenOffer()}
      ${isTokenRefused.value ? tokenForm() : liveView(MIRROR, content)}
    </main>
    ${footer()}
    ${component(TermTips, {})}
  </div>`;
}

/** Moves the focus to the heading when the view changes, for keyboard and screen reader users. */
function useFocusOnChange(view: ViewName) {
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(view);
  useEffect(() => {
    if (shown.current !== view) heading.current?.focus();
    shown.current = view;
  }, [view]);
  return heading;
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function content(mirror: MirrorTrust): VNode {
  const { view, env, values } = route.value;
  const { show } = PAGE_VIEWS[view];
  if (show === undefined) return mirrorView(mirror);
  const { environments, selected: environment } = environmentsIn(mirror);
  if (environment !== undefined)
    return html`<div key="${view} ${environment.env_id}">${show({ environment, environments, values })}</div>`;
  return notice('neutral', whyNotShown(mirror, env));
}

/** The environments that the views show, and the one that the address selects: the first if it names none. */
function environmentsIn({ environments: all }: MirrorTrust) {
  const { env } = route.value;
  const environments = all.filter(({ has_views: hasViews }) => hasViews);
  return { environments, selected: environments.find(({ env_id }) => env === null || env_id === env) };
}

function whyNotShown({ environments }: MirrorTrust, env: string | null): string {
  if (environments.length === 0) return 'Your token sees no environment of this mirror.';
  if (env === null) return 'The service no longer lists any environment that your token may see.';
  const missing = environments.find(({ env_id }) => env_id === env);
  if (missing === undefined) return `Your token sees no environment ${env}.`;
  const since = missing.missing_since === null ? '' : ` since ${formatInstant(missing.missing_since)}`;
  return `${missing.name} is no longer listed${since}. Its rows stay in the mirror: obsync report --env ${missing.env_id} shows them.`;
}

function header(): VNode {
  const { view, env } = route.value;
  return html`<header>
    <span class="brand">obsync</span>
    <nav aria-label="Views">
      <ul>${VIEWS.map(
        (name) => html`<li key=${name}>
          <a href=${formatRoute({ view: name, env, values: {} })} aria-current=${name === view ? 'page' : undefined} title=${PAGE_VIEWS[name].question}>${PAGE_VIEWS[name].short}</a>
        </li>`,
      )}</ul>
    </nav>
    ${component(TokenLimit, {})}
    ${component(EnvironmentPicker, {})}
  </header>`;
}

/** A page on which nothing fails may come from somebody else's link, with a token that sees little. */
function TokenLimit(): VNode | null {
  const limit = liveState(MIRROR).data?.limited_to ?? null;
  // A report needs no token: its reader sees what it was made for.
  if (limit === null || reportData !== null) return null;
  return html`<span class="faint">Your token sees part of this mirror.</span>`;
}

function EnvironmentPicker(): VNode | null {
  const { view, env } = route.value;
  const { data } = liveState(MIRROR);
  if (data === null || view === 'mirror') return null;
  const { environments, selected } = environmentsIn(data);
  const current = selected?.env_id;
  const isOther = current === undefined;
  if (environments.length < (isOther ? 1 : 2)) return null;
  const pick = ({ currentTarget }: { currentTarget: HTMLSelectElement }): void => {
    window.location.hash = formatRoute({ view, env: currentTarget.value, values: {} });
  };
  return html`<label class="picker">Environment
    <select value=${current ?? ''} onChange=${pick}>
      ${isOther && html`<option value="" selected disabled>${data.environments.find(({ env_id }) => env_id === env)?.name ?? env}</option>`}
      ${environments.map(({ env_id, name }) => html`<option key=${env_id} value=${env_id} selected=${env_id === current}>${name}</option>`)}
    </select>
  </label>`;
}

/** Of the selected environment or, where the whole mirror is shown, of the one that is furthest behind. */
function mirrorAge(mirror: MirrorTrust): VNode {
  const { environments, selected } = environmentsIn(mirror);
  const shown = PAGE_VIEWS[route.value.view].show === undefined ? environments : [selected];
  const times = shown.map((environment) => environment?.complete_at ?? null);
  const [oldest = null] = times.includes(null) ? [] : times.sort();
  return oldest === null
    ? html`<span>Not every stream was read to its end yet.</span>`
    : html`<span>Mirror as of ${age(oldest)}.</span>`;
}

function footer(): VNode {
  const { data } = liveState(MIRROR);
  const licences = document.querySelector<HTMLLinkElement>('link[rel=license]')?.href;
  return html`<footer>
    <span>${data !== null && mirrorAge(data)}</span>
    ${
      reportData !== null &&
      html`<span>A report made at ${formatInstant(reportData.madeAt)}. It does not update, and includes the lineage of failing assets only.</span>`
    }
    ${
      reportData === null &&
      html`<span class="links">
        <a href="docs">API</a>
        <a href=${licences}>Licences</a>
        ${token.value !== null && html`<button type="button" class="plain" onClick=${forgetToken}>Forget the token</button>`}
      </span>`
    }
  </footer>`;
}
