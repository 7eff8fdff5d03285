// SPDX-License-Identifier: Apache-2.0
// The live form of the status page (docs/page.md). It asks for page.json once a second on one connection,
// and changes only the parts of the page that differ. All texts go in as text: nothing here makes markup.
'use strict';

const EVERY_MS = 1000;      // between an answer and the next question
const PATIENCE_MS = 2500;   // a daemon that is silent for longer does not answer
const SAMPLES = 60;         // of a sparkline: a minute
const AVERAGED = 5;         // the rate is that of the last samples, as one sample alone flickers
const LEVELS = ['bad', 'look', 'good'];     // problems first
const SVG = 'http://www.w3.org/2000/svg';

// ---- Texts

const plain = new Intl.NumberFormat('en-US');

function duration(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 120) return s + ' s';
  if (s < 7200) return Math.floor(s / 60) + ' min';
  if (s < 172800) return Math.floor(s / 3600) + ' h';
  return Math.floor(s / 86400) + ' d';
}

// Durations below seconds matter here.
function latency(ms) {
  return ms < 10000 ? plain.format(ms) + ' ms' : duration(ms);
}

function size(bytes) {
  if (bytes < 1024) return bytes + ' B';
  if (bytes < 1048576) return (bytes / 1024).toFixed(1) + ' KiB';
  return (bytes / 1048576).toFixed(1) + ' MiB';
}

function rateText(perSecond) {
  if (perSecond === 0) return '0/s';
  return (perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)) + '/s';
}

function clock(ms) {
  return new Date(ms).toLocaleTimeString('en-GB');
}

function lastRun(run, now) {
  if (run === null) return 'none';
  return `${run.outcome}, ${duration(Math.max(0, now - run.ended_ms))} ago, ${latency(run.took_ms)}`;
}

function expiry(till, now) {
  const date = new Date(till).toISOString().slice(0, 10);
  return till > now ? `in ${duration(till - now)} (${date})` : `${duration(now - till)} ago (${date})`;
}

// ---- Elements

function make(tag, className, ...children) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

// Touches the page only if something differs, so that nothing is laid out for no reason, and a screen
// reader hears of changes only.
function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

function attribute(e, name, value) {
  if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
}

// Brings children into this order, and moves only those that stand elsewhere.
function arrange(parent, children) {
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] || null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
}

// A text with commands, each between two `: one click selects one command.
function showTodo(e, todo) {
  if (e.textContent === todo.replaceAll('`', '')) return;
  e.replaceChildren(...todo.split('`').map((part, i) => i % 2 === 0 ? part : make('code', '', part)));
}

// ---- Cells: each makes its content in a td, and returns a function that shows a row there

function text(of) {
  return (td) => (row, now) => say(td, of(row, now));
}

// A text that may be cut off: the whole of it shows when the mouse rests there.
function longText(of) {
  return (td) => (row, now) => {
    const t = of(row, now);
    say(td, t);
    if (td.title !== t) td.title = t;
  };
}

function state(td) {
  const word = make('span');
  td.append(word);
  return (row) => say(word, row.word);
}

function name(...about) {
  return (td) => {
    const b = make('b'), small = make('small');
    td.append(b, ' ', small);
    return (row) => {
      say(b, row.name);
      say(small, about.map((of) => of(row)).filter(Boolean).join(' \u00b7 '));
      td.title = b.textContent;
    };
  };
}

function freshness(td) {
  const meter = make('meter'), age = make('span');
  for (const [key, value] of [['min', 0], ['max', 1000], ['low', 200], ['high', 400], ['optimum', 1000]])
    meter.setAttribute(key, value);
  td.append(meter, ' ', age);
  return (row) => {
    const said = row.age_ms === null ? 'never' : duration(row.age_ms);
    attribute(meter, 'value', row.fresh);
    attribute(meter, 'aria-label', `freshness, last contact: ${said}`);
    say(age, said);
  };
}

function sparkline(td) {
  const svg = document.createElementNS(SVG, 'svg'), path = document.createElementNS(SVG, 'path');
  const number = make('span');
  svg.setAttribute('class', 'spark');
  svg.setAttribute('viewBox', `0 0 ${SAMPLES} 16`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  svg.append(path);
  td.append(svg, ' ', number);
  return (row) => {
    const samples = row.samples, most = Math.max(1, ...samples);
    const x = SAMPLES - samples.length;
    // A flat line needs two points only.
    const points = samples.some((v) => v > 0)
      ? samples.map((v, i) => `${x + i + 0.5} ${(15 - 14 * v / most).toFixed(1)}`)
      : [`${x + 0.5} 15`, `${SAMPLES - 0.5} 15`];
    attribute(path, 'd', samples.length > 0 ? 'M' + points.join('L') : '');
    const few = samples.slice(-AVERAGED);
    say(number, few.length > 0 ? rateText(few.reduce((a, b) => a + b, 0) / few.length) : '');
  };
}

// ---- Tables

const COLUMNS = {
  watches: [
    ['state', 'State', state],
    ['name', 'Watch', name((w) => w.resource, (w) => w.cluster)],
    ['fresh', 'Last contact', freshness],
    ['rate', 'Events per second', sparkline],
    ['num objects', 'Objects', text((w) => plain.format(w.objects))],
    ['num bytes', 'Size', text((w) => size(w.bytes))],
    ['error', 'Last error', text((w) => [w.skipped > 0 ? `${w.skipped} skipped` : '', w.error || '']
      .filter(Boolean).join('; '))],
  ],
  hooks: [
    ['state', 'State', state],
    ['name', 'Hook', name()],
    ['num running', 'Running', text((h) => plain.format(h.running))],
    ['num pending', 'Pending', text((h) => plain.format(h.pending))],
    ['num oldest', 'Oldest', text((h) => h.oldest_ms === null ? '' : duration(h.oldest_ms))],
    ['num failed', 'Failed runs', text((h) => `${h.runs_failed} of ${h.runs_ok + h.runs_failed}`
      + (h.parked > 0 ? `, ${h.parked} parked` : ''))],
    ['last', 'Last run', longText((h, now) => lastRun(h.last, now))],
    ['num times', 'p50 / p99', longText((h) => h.p50_ms === null ? ''
      : h.p99_ms < 10000 ? `${plain.format(h.p50_ms)} / ${latency(h.p99_ms)}`
        : `${latency(h.p50_ms)} / ${latency(h.p99_ms)}`)],
    ['error', 'Last error', text((h) => h.error || '')],
  ],
  views: [
    ['state', 'State', state],
    ['name', 'View', name((v) => v.cluster)],
    ['num objects', 'Objects', text((v) => plain.format(v.objects))],
  ],
  servers: [
    ['state', 'State', state],
    ['name', 'Server', name((s) => s.cluster, (s) => s.in_use ? 'in use' : '')],
    ['since', 'Since', text((s) => s.since_ms === null ? '' : duration(s.since_ms))],
    ['error', 'Last error', text((s) => s.error || '')],
  ],
  credentials: [
    ['state', 'State', state],
    ['name', 'Credential', name((c) => c.cluster)],
    ['since', 'Expires', longText((c, now) => expiry(c.till_ms, now))],
  ],
};

class Table {
  constructor(id, title) {
    this.columns = COLUMNS[id];
    this.rows = new Map();
    this.count = make('span', 'count');
    this.body = make('tbody');
    const heads = this.columns.map(([className, head]) => {
      const th = make('th', className.split(' ')[0], head);
      th.scope = 'col';
      return th;
    });
    const table = make('table', id, make('thead', '', make('tr', '', ...heads)), this.body);
    this.none = make('p', 'none', 'No row fits the filter.');
    this.section = make('section', '', make('h2', '', title + ' ', this.count), table, this.none);
    this.section.id = id;
    this.badge = make('span');
    this.link = make('a', '', title, this.badge);
    this.link.href = '#' + id;
  }

  makeRow() {
    const tr = make('tr');
    const cells = this.columns.map(([className, , cell]) => {
      const td = make('td', className);
      tr.append(td);
      return cell(td);
    });
    return { tr, cells };
  }

  // rows: of the answer; each has a key, a level, and is found by the filter in row.words.
  show(rows, now, filter) {
    const kept = new Map();
    let shown = 0;
    for (const row of rows) {
      const made = this.rows.get(row.key) || this.makeRow();
      kept.set(row.key, made);
      if (made.tr.className !== row.level) made.tr.className = row.level;
      made.tr.hidden = !row.words.includes(filter);
      if (made.tr.hidden) continue;
      shown++;
      for (const cell of made.cells) cell(row, now);
    }
    this.rows = kept;
    const sorted = LEVELS.flatMap((level) => rows.filter((row) => row.level === level));
    arrange(this.body, sorted.map((row) => kept.get(row.key).tr));
    this.section.hidden = this.link.hidden = rows.length === 0;
    this.none.hidden = shown > 0;
    say(this.count, shown < rows.length ? `${shown} of ${rows.length}` : String(rows.length));
    this.warn(rows);
  }

  // The number of rows that are not as they should be, beside the link in the bar.
  warn(rows) {
    const worst = LEVELS.slice(0, 2).find((level) => rows.some((row) => row.level === level));
    this.badge.className = worst || 'count';
    say(this.badge, worst ? ` ${rows.filter((row) => row.level === worst).length}` : ` ${rows.length}`);
  }
}

// ---- The page

class Page {
  constructor() {
    this.node = make('span', 'node');
    this.live = make('span', 'live');
    this.filter = make('input');
    Object.assign(this.filter, { type: 'search', placeholder: 'Filter   /', ariaLabel: 'Filter the rows' });
    this.verdict = make('p', 'verdict');
    this.verdict.setAttribute('role', 'status');
    this.summary = make('b');
    this.about = make('small');
    this.verdict.append(this.summary, this.about);
    this.problems = make('ul', 'problems');
    this.tables = {
      watches: new Table('watches', 'Watches'), hooks: new Table('hooks', 'Hooks'),
      views: new Table('views', 'Views'), servers: new Table('servers', 'Servers'),
      credentials: new Table('credentials', 'Credentials'),
    };
    const tables = Object.values(this.tables);
    this.header = make('header', '', make('h1', '', 'informerd'), this.node,
      make('nav', '', ...tables.map((t) => t.link)), this.filter, this.live);
    this.main = make('main', '', this.verdict, this.problems, ...tables.map((t) => t.section));
    this.filter.addEventListener('input', () => this.show(this.answer));
    document.addEventListener('keydown', (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.key === '/' && document.activeElement !== this.filter && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.filter.focus();
    } else if (event.key === 'Escape' && document.activeElement === this.filter) {
      this.filter.value = '';
      this.show(this.answer);
    }
  }

  // Takes the place of what the server has written.
  begin() {
    document.querySelector('header').replaceWith(this.header);
    document.querySelector('main').replaceWith(this.main);
  }

  show(answer) {
    if (answer === null || answer === undefined) return;
    if (this.answer === undefined) this.begin();
    this.answer = answer;
    const filter = this.filter.value.trim().toLowerCase();
    say(this.node, answer.node || '');
    this.judge(null);
    say(this.about, `informerd ${answer.version}, up ${duration(answer.up_ms)}`
      + (answer.reloading ? ', reloading' : ''));
    this.showProblems(answer);
    for (const [id, table] of Object.entries(this.tables)) table.show(answer[id], answer.wall_ms, filter);
  }

  // unknown: why nobody can tell how informerd is now; null = the answer is fresh.
  judge(unknown) {
    const level = unknown !== null ? 'lost' : this.answer.level;
    if (this.verdict.className !== 'verdict ' + level) this.verdict.className = 'verdict ' + level;
    say(this.summary, unknown !== null ? `Not known: ${unknown}` : this.answer.summary);
  }

  makeProblem() {
    return make('li', '', make('p'), make('span', 'todo'));
  }

  showProblems(answer) {
    const items = answer.problems.map((problem, i) => {
      const li = this.problems.children[i] || this.makeProblem();
      return li.className === 'more' ? this.makeProblem() : li;
    });
    answer.problems.forEach((problem, i) => {
      say(items[i].firstChild, problem.text);
      showTodo(items[i].lastChild, problem.todo);
    });
    const left = answer.problem_count - answer.problems.length;
    if (left > 0) items.push(make('li', 'more', make('p', '', `and ${left} more: informerctl doctor lists all`)));
    arrange(this.problems, items);
    this.problems.hidden = items.length === 0;
  }
}

// ---- Rates

class Rates {
  constructor() {
    this.before = null;
    this.samples = new Map();
  }

  // Gives each watch its samples, the newest one last. The counters of another process, or of a watch
  // that a reload has replaced, begin anew.
  note(answer) {
    const was = this.before;
    const ms = was === null ? 0 : answer.at_ms - was.at_ms;
    const goes_on = was !== null && was.started_ms === answer.started_ms && ms < 5 * EVERY_MS;
    const kept = new Map();
    for (const watch of answer.watches) {
      const count = goes_on ? was.counts.get(watch.key) : undefined;
      const samples = goes_on ? this.samples.get(watch.key) || [] : [];
      if (count !== undefined && watch.changes >= count && ms > 0)
        samples.push((watch.changes - count) * 1000 / ms);
      if (samples.length > SAMPLES) samples.shift();
      kept.set(watch.key, samples);
      watch.samples = samples;
    }
    this.samples = kept;
    if (was !== null && ms === 0) return;   // the same answer once more
    this.before = { at_ms: answer.at_ms, started_ms: answer.started_ms,
      counts: new Map(answer.watches.map((watch) => [watch.key, watch.changes])) };
  }
}

// What the tables need of each row.
function prepare(answer) {
  for (const view of answer.views) {
    view.level = view.stale ? 'bad' : view.synced ? 'good' : 'look';
    view.word = view.stale ? 'stale' : view.synced ? 'current' : 'waiting';
  }
  for (const server of answer.servers) server.name = server.url;
  for (const credential of answer.credentials) credential.name = credential.type;
  for (const id of Object.keys(COLUMNS))
    for (const row of answer[id]) {
      row.key = `${row.cluster || ''} ${row.name}`;
      row.words = [row.name, row.cluster, row.resource, row.word, row.error].filter(Boolean)
        .join('\n').toLowerCase();
    }
}

// ---- Asking

class Asker {
  constructor(page, rates) {
    this.page = page;
    this.rates = rates;
    this.answered = Date.now();     // the page itself was an answer
    this.trouble = null;            // why the last question has no answer
    this.away = document.hidden;    // nobody sees the page, or it was not answered since then
    this.timer = null;
    this.version = null;
    this.note = make('p', 'lost-note');
    this.note.setAttribute('role', 'alert');
    this.note.hidden = true;
    document.body.prepend(this.note);
    document.addEventListener('visibilitychange', () => this.onVisible());
    setInterval(() => this.tell(), 500);
  }

  // A page that nobody sees asks for nothing.
  onVisible() {
    clearTimeout(this.timer);
    if (document.hidden) this.away = true;
    else this.ask();
    this.tell();
  }

  async ask() {
    clearTimeout(this.timer);
    if (this.asking) return;
    this.asking = true;
    try {
      const response = await fetch('page.json', { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!response.ok) throw new Error(`it answers with ${response.status}`);
      this.take(await response.json());
    } catch (error) {
      this.trouble = error.name === 'TimeoutError' ? 'it is silent'
        : error.name === 'TypeError' ? 'it cannot be reached' : error.message;
    }
    this.asking = false;
    this.away = document.hidden;
    this.tell();
    if (!document.hidden) this.timer = setTimeout(() => this.ask(), EVERY_MS);
  }

  // Another release may have other members, and another script.
  take(answer) {
    if (this.version !== null && this.version !== answer.version) location.reload();
    this.version = answer.version;
    prepare(answer);
    this.rates.note(answer);
    this.page.show(answer);
    this.answered = Date.now();
    this.trouble = null;
  }

  // An old page must not look like a good one, whatever the reason is: the daemon has ended, the machine
  // was asleep, the browser has stopped the timers. A page that was not asking has no trouble to tell of.
  tell() {
    const old = this.trouble !== null || Date.now() - this.answered > EVERY_MS + PATIENCE_MS;
    const state = this.away && this.trouble === null ? 'paused' : old ? 'lost' : 'live';
    const main = document.querySelector('main');
    if (main) main.classList.toggle('frozen', old);
    this.note.hidden = !old;
    say(this.note, old ? `${this.since(state)}. All that you see here is old.` : '');
    if (this.page.answer) this.page.judge(!old ? null : state === 'paused'
      ? 'the page was not in view' : 'informerd does not answer');
    this.page.live.className = 'live ' + { lost: 'lost', paused: 'off', live: 'on' }[state];
    say(this.page.live, state === 'lost' ? 'no answer' : state);
    document.title = this.title(state);
  }

  since(state) {
    const at = clock(this.answered);
    if (state === 'paused') return `Paused since ${at}, as nobody saw this page`;
    return `No answer from informerd since ${at}${this.trouble ? `: ${this.trouble}` : ''}`;
  }

  title(state) {
    const answer = this.page.answer;
    const name = `informerd ${answer && answer.node || ''}`.trim();
    if (state !== 'live') return `${state === 'lost' ? 'No answer' : 'Paused'}: ${name}`;
    return answer && answer.problem_count > 0 ? `(${answer.problem_count}) ${name}` : name;
  }
}

new Asker(new Page(), new Rates()).ask();
