#include "gateway/pages/upload.h"

#include "common/limits.h"
#include "common/strings.h"
#include "gateway/pages/page.h"

namespace sandkeep {
namespace {

// Says only what it was told by the page: the numbers stand in its attributes. Names are set as
// text, never as markup.
constexpr std::string_view kScript = R"js(
'use strict';
const drop = document.getElementById('drop');
const list = document.getElementById('list');
const say = document.getElementById('say');
const done = document.getElementById('done');
const base = location.pathname.replace(/\/*$/, '/');
const piece = Number(drop.dataset.piece);
const one = drop.dataset.one === 'yes';
let left = Number(drop.dataset.left);
let taken = false;
const queue = [];
let busy = false;
let sent = 0;

function words(bytes) {
  for (const unit of ['bytes', 'kB', 'MB', 'GB']) {
    if (bytes < 1000 || unit === 'GB') return (unit === 'bytes' ? bytes : bytes.toFixed(1)) + ' ' + unit;
    bytes /= 1000;
  }
}

function row(name, size) {
  const item = document.createElement('li');
  const text = document.createElement('span');
  const bar = document.createElement('progress');
  text.textContent = name + ', ' + words(size);
  bar.max = size || 1;
  bar.value = 0;
  item.append(text, bar);
  list.append(item);
  return {text, bar, name, size};
}

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)),
  (byte) => byte.toString(16).padStart(2, '0')).join('');

function add(file, path) {
  const name = path || file.webkitRelativePath || file.name;
  const entry = row(name, file.size);
  entry.id = newId();
  if (one && taken) {
    entry.text.textContent += ': not taken, one file was asked for';
    entry.text.className = 'problem';
    return;
  }
  if (file.size > left) {
    entry.text.textContent += ': too large, ' + words(left) + ' are left';
    entry.text.className = 'problem';
    return;
  }
  left -= file.size;
  taken = true;
  queue.push({file, entry});
  run();
}

function put(file, url, from, to, entry) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    if (file.size > 0) {
      request.setRequestHeader('Content-Range', 'bytes ' + from + '-' + (to - 1) + '/' + file.size);
    }
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader('Upload-Id', entry.id);
    request.upload.onprogress = (event) => { entry.bar.value = from + event.loaded; };
    request.onloadend = () => {
      const offset = request.getResponseHeader('Upload-Offset');
      resolve({status: request.status, offset: offset === null ? null : Number(offset)});
    };
    request.send(file.slice(from, to));
  });
}

async function look(file, url, entry) {
  const headers = {'Upload-Length': String(file.size), 'Upload-Id': entry.id};
  const answer = await fetch(url, {method: 'HEAD', headers});
  return {offset: Number(answer.headers.get('Upload-Offset') || 0),
    whole: answer.headers.get('Upload-Complete') === '?1'};
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function send(file, entry) {
  const url = base + entry.name.split('/').map(encodeURIComponent).join('/');
  let from = 0;
  for (let tries = 0; tries < 8;) {
    const answer = await put(file, url, from, Math.min(from + piece, file.size), entry);
    if (answer.status === 201) return '';
    if (answer.status === 200) { from = answer.offset; tries = 0; continue; }
    if (answer.status === 410 || answer.status === 404) return 'this page is over';
    if (answer.status === 413) return 'too large for this page or its disk';
    if (answer.status === 400) return 'this name can’t be taken';
    tries += 1;
    await pause(Math.min(500 * 2 ** tries, 10000));
    try {
      const now = answer.offset !== null ? answer : await look(file, url, entry);
      if (now.whole) return '';
      from = now.offset;
    } catch { }
  }
  return 'it didn’t work; add the file again to go on where it stopped';
}

async function run() {
  if (busy) return;
  busy = true;
  while (queue.length > 0) {
    const {file, entry} = queue.shift();
    say.textContent = 'Sending ' + entry.name + ' …';
    const problem = await send(file, entry);
    if (problem) {
      taken = false;
      entry.text.textContent = entry.name + ': ' + problem;
      entry.text.className = 'problem';
    } else {
      entry.bar.value = entry.bar.max;
      entry.text.textContent = entry.name + ', ' + words(file.size) + ': arrived';
      sent += 1;
    }
  }
  busy = false;
  say.textContent = sent === 1 ? '1 file arrived.' : sent + ' files arrived.';
  done.hidden = sent === 0;
}

async function walk(entry, path) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return add(file, path + entry.name);
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const each of some) await walk(each, path + entry.name + '/');
  }
}

for (const input of document.querySelectorAll('input')) {
  input.addEventListener('change', () => {
    for (const file of input.files) add(file);
    input.value = '';
  });
}
document.addEventListener('dragover', (event) => { event.preventDefault(); drop.className = 'over'; });
document.addEventListener('dragleave', () => { drop.className = ''; });
document.addEventListener('drop', (event) => {
  event.preventDefault();
  drop.className = '';
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  for (const entry of entries) walk(entry, '');
});
done.addEventListener('click', async () => {
  await fetch(base, {method: 'POST'});
  document.getElementById('work').hidden = true;
  say.textContent = 'Done. You can close this page and go back to the chat.';
});
window.addEventListener('beforeunload', (event) => { if (busy) event.preventDefault(); });
)js";

}  // namespace

std::string UploadPage(const UploadPageView& view) {
  std::string body = StrCat(
      "<h1>Hand files to your sandbox</h1>\n<div id=\"work\">\n<div id=\"drop\" data-piece=\"",
      kMaxUploadPieceBytes / 2, "\" data-left=\"", view.left_bytes,
      view.folder ? "" : "\" data-one=\"yes", "\">\n<p>Drop ",
      view.folder ? "files or folders" : "a file", " here, or pick ", view.folder ? "them" : "it",
      ".</p>\n<div class=\"actions\">\n<label class=\"button main-action\">Pick ",
      view.folder ? "files<input type=\"file\" id=\"files\" multiple>"
                  : "a file<input type=\"file\" id=\"files\">",
      "</label>\n");
  if (view.folder) {
    body +=
        "<label class=\"button\">Pick a folder<input type=\"file\" id=\"folder\" "
        "webkitdirectory></label>\n";
  }
  StrAppend(&body,
            "</div>\n</div>\n<ul id=\"list\"></ul>\n"
            "<p class=\"actions\"><button id=\"done\" hidden>That was all</button></p>\n</div>\n"
            "<p id=\"say\" role=\"status\"></p>\n"
            "<noscript><p class=\"note\">This page needs its script to send files.</p></noscript>\n"
            "<script>",
            kScript, "</script>\n");
  return RenderPage("Hand files to your sandbox", body);
}

const std::string& UploadPagePolicy() {
  static const std::string policy = PagePolicyWith(kScript);
  return policy;
}

}  // namespace sandkeep
