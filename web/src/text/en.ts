// All texts of the page in English. What stands in the markup is by `data-text` there: `code` and *bold* are marked so.

import { type AgeAlarm, type Language, type SignMode } from "./kinds.ts";

const MARKUP = {
  noScript: "This page decrypts video in the browser, so it needs JavaScript.",
  starting: "Starting. If this line stays, the browser is too old for this page or did not load its program.",
  whatToDo: "What to do",
  watch: "Watch",
  publish: "Publish",
  publishWhat: "my camera or screen",
  notConnected: "Not connected",
  shortageTitle: "This page cannot work here",
  threeWays: "Three ways in",
  wayLocal: "On the machine where the program runs, open the address below. Browsers trust their own machine.",
  wayHttps: "From another machine, open the address below and click through the warning about the certificate. The " +
    "program made that certificate itself; who the other end is, the ticket says, and it is checked again.",
  wayName: "Give the program a name and a certificate of an authority that the browser knows, and open `https://` " +
    "with that name. There is no warning then.",
  ticket: "Ticket",
  relayAddress: "Address of the relay, and a name for the stream",
  whatDoYouWant: "What do you want to do?",
  choiceWatch: "*Watch* the other end's camera",
  choicePublish: "*Publish* my camera or screen to the other end",
  choiceRelay: "*Publish through a relay*, for viewers to whom I give a ticket",
  goOn: "Go on",
  relayHelp: "A relay takes the stream once, and gives it to any number of viewers; it has no key and sees no " +
    "picture. " +
    "The address is that of a relay for Media over QUIC, whoever runs it, and ends with a name that you choose. A " +
    "relay without a certificate of an authority has `#sha256=` and its certificate's hash behind the name.",
  relayTicket: "This page then shows a ticket. Who gets it can watch, with this page at any address or with the " +
    "program.",
  ticketHelp: "A ticket is one line that begins with `sealcast://`. The program at the other end prints it when it " +
    "starts: ask whoever started it. The ticket says where that end is and who it is, and usually has an invite, " +
    "which " +
    "admits whoever knows it. So take it over a way that you trust, and give it to nobody else.",
  ticketStays: "It stays in this page. It is neither sent to the server nor stored with its invite, and an address " +
    "with a ticket is shortened at once.",
  publishTitle: "Publish my camera or screen",
  picture: "Picture",
  source: "Source",
  backCamera: "Back camera",
  whichCamera: "Which camera",
  moreSettings: "More settings",
  screen: "Screen or window",
  size: "Size",
  rate: "Pictures a second",
  codec: "Codec",
  bitRate: "Bit rate",
  jpegQuality: "JPEG quality",
  sound: "Sound",
  send: "Send",
  soundNone: "no sound",
  soundMicrophone: "a microphone's",
  soundScreen: "the screen's",
  microphone: "Microphone",
  treatedAs: "Treated as",
  speech: "speech: one channel",
  stereo: "stereo, as it is",
  microphoneNote: "The microphone is open only while its sound is sent: muting closes it.",
  screenNote: "Not every browser and system gives the sound of a screen. Where it can, its question has a switch for " +
    "it.",
  mechanism: "Key mechanism",
  suite: "Suite",
  whatIsEncrypted: "What is encrypted",
  newKeysEvery: "New keys every",
  carrier: "Carrier",
  carrierBetter: "the better one that works",
  relayNote: "Everything is encrypted once for all viewers, and each picture is signed.",
  uses: "Viewers that the ticket admits",
  allCameras: "All cameras",
  chooseCamera: "Choose a camera to see it large, to hear it, and to see who sends it and how it is protected.",
  addCamera: "Add a camera",
  again: "Connect again",
  otherTicket: "Use another ticket",
  forget: "Forget this camera",
  mayBeOld: "This picture may be old",
  controls: "Controls",
  playSound: "Play the sound",
  fullScreen: "Full screen",
  fullScreenHint: "Double click on the picture, or F",
  save: "Save picture",
  zoom: "Zoom",
  smaller: "Smaller",
  larger: "Larger",
  sendSound: "Send sound",
  soundLevel: "Level of the sound that is sent, in decibels",
  stop: "Stop",
  whoThisIs: "Who this is",
  whoWatches: "Who watches",
  ticketForViewers: "Ticket for viewers",
  copyTicket: "Copy the ticket",
  details: "Details",
  detailsWhat: "settings, figures, events",
  settings: "Settings",
  holdBack: "Hold back",
  encrypt: "Encrypt",
  keyframe: "Keyframe",
  keyframeHint: "A picture that needs no earlier ones",
  newKeys: "New keys",
  newKeysHint: "Agree on other keys now",
  reconnect: "Reconnect",
  holdBackHelp: "A picture held back for some milliseconds comes more evenly, and later.",
  carrierHelp: "Another carrier is used from the next connection on.",
  whereTimeGoes: "Where the time goes",
  tableOfStages: "Table of the stages",
  stage: "stage",
  median: "median",
  frames: "frames",
  compositor: "The compositor and the display add up to 50 ms more that a page cannot see.",
  whatStagesAre: "What the stages are",
  stream: "Stream",
  refusedRecords: "Refused records",
  none: "None.",
  lastMinute: "The last minute",
  mediansByStage: "medians by stage, ms",
  tableHasNewest: "The table has the newest of these figures in numbers.",
  events: "Events",
  whoServes: "Who serves this page serves its code: trust it as far as you trust whoever runs the program at this " +
    "address.",
  codeOfPage: "Code of this page:",
  notComputedYet: "not computed yet",
  programPrints: "The program prints the same number when it starts.",
};

const NOTICES = {
  connecting: { title: "Connecting", words: "The other end is being reached." },
  handshake: { title: "Checking who it is", words: "Both ends prove who they are, and agree on keys." },
  waiting: { title: "Waiting for the first picture", words: "The connection is there and protected." },
  tampered: {
    title: "Nothing authentic comes",
    words: "What arrives was altered or repeated on the way, so it is refused and counted. There is no live picture. " +
      "Try another network or carrier; if it stays so, somebody between the two ends interferes.",
  },
  lost: { title: "Connection lost", words: "There is no live picture. The page tries again by itself." },
  silent: {
    title: "No new picture", words: "The last one would be old, so it is not shown. The page waits for the next one.",
  },
  away: { title: "The camera is off", words: "The page waits until it is back." },
  ended: { title: "Ended", words: "The stream is over. There is no live picture." },
  refused: { title: "Refused", words: "No connection was made, and there is no picture." },
  removed: { title: "You were removed", words: "Your access was ended. To watch again, ask for a new link." },
  failed: { title: "It does not work", words: "There is no picture." },
};

const LIVE = {
  live: "Live",
  standsStill: "The picture stands still",
  standsFor: (seconds: number) => `This picture is ${seconds} s old`,
  since: (title: string, moment: string) => `${title} since ${moment}`,
  reason: (why: string, words: string) => `The reason: ${why}. ${words}`,
  cause: (cause: string) => `cause: ${cause}`,
  tapToWatch: "Tap to watch",
  noSave: "The picture could not be saved. Make a screenshot of the page.",
  fullScreen: "Full screen",
  leaveFullScreen: "Leave full screen",
  itsPicture: "The publisher's picture, live",
  pictureOf: (camera: string) => `The picture of ${camera}, live`,
  cameraFile: "camera",
  stopped: "You stopped it.",
  left: "The page was left.",
  otherAddress: "Use another address",
  publishInstead: "Publish instead",
  watchInstead: "Watch instead",
  connectingAs: (viewer: boolean, camera: string) =>
    `Connecting as a ${viewer ? "viewer" : "publisher"}${camera === "" ? "" : ` of ${camera}`}.`,
  relayTakes: "The relay takes the pictures",
  sessionStands: "The session stands",
  brokeOff: "The part of the page that decrypts broke off. Connect again; if it happens again, report it.",
  soundOn: "Play the sound",
  soundOff: "Mute the sound",
  soundBroken: "This browser did not let the sound begin. Press the button once more, or look whether it may play " +
    "sound.",
  times: (words: string, times: number) => `${words} (${times} times)`,
};

const ENTER = {
  whichStream: "Which stream?",
  whichRelay: "Through which relay?",
  noTicket: "this is no ticket",
  noRelay: "this is no address of a relay",
  beginsWith: "a ticket begins with sealcast://",
  missing: (names: string) => `Missing: ${names}.`,
  isMissing: "missing",
  tooOld: "This browser is too old for the page, or a setting switched a part of it off.",
  insecure: "Browsers give these parts only to pages whose address they trust: https, or http on their own machine.",
  secure: "secure context",
  secureContext: "the address counts as trustworthy",
  subtle: "encryption",
  videoDecoder: "decoding video (WebCodecs)",
  worker: "a second thread",
  offscreen: "drawing in that thread",
  notComputed: "not computed",
  newCode: (before: string) => `This code is new since your last visit, when it was ${before}…; the program prints ` +
    "the same number when it starts.",
  noBundle: "The server did not answer, or this browser has no hash function here.",
};

const LOCK = {
  notConnected: "Not connected",
  nothing: "nothing is protected or shown",
  who: "Who this is",
  nobody: "Nobody yet: there is no session.",
  thisEnd: "This end",
  ownName: "Viewers see this name. The relay has no key: each viewer proves that it is one whom your ticket " +
    "admitted, and gets its keys from this page.",
  publisher: "The publisher",
  viewer: "The viewer",
  proved: (viewer: boolean) =>
    "It proved that it is the one whom the ticket names. To be sure of the ticket too, compare " +
    `this with what the ${viewer ? "viewer" : "publisher"}'s program printed, or its page shows.`,
  hexadecimal: "hexadecimal", peerId: "peer id", keys: "keys", suite: "suite", epoch: "epoch", encrypted: "encrypted",
  groupEpoch: "group's epoch", sealedFor: "sealed for", allViewers: "all viewers at once", signed: "signed",
  relay: "relay", carrier: "carrier", own: "this end",
  epochFor: (epoch: number, age: string) => `${epoch}, for ${age}`,
  relayAs: (relay: string, name: string) => `${relay}, as ${name}`,
  endToEnd: "Encrypted end to end",
  notEncrypted: "Not encrypted",
  partly: "Partly in clear",
  hybrid: "post-quantum hybrid",
  hybridMeans: "Whoever records the stream would have to break both parts",
  postQuantum: "post-quantum",
  postQuantumMeans: "without a classical part",
  classical: "classical",
  classicalMeans: "A quantum computer could one day open what is recorded today",
  unknownMeans: "this page does not know what it protects against",
  nothingEncrypted: "Nothing is encrypted: everybody on the way can watch. This is for study only.",
  partInClear: (known: string) =>
    `A part of the video goes in clear (encrypted: ${known}). Whoever listens on the way ` +
    "may see what it shows. This is for study only.",
  sealedForThis: "this page alone",
  sealedForGroup: "a group of viewers at once; this page is a member",
  holdsThis: "The picture is sealed for this page alone.",
  holdsGroup: (signs: string) =>
    "The picture is sealed once for a group of viewers; this page is a member. The camera " +
    `signs ${signs}.`,
  unsigned: "nothing: nobody else has this page's key",
  webtransport: "WebTransport (QUIC)",
  websocket: "WebSocket (TCP)",
  relayWay: "a relay, which has no key (Media over QUIC, over WebTransport)",
  relaySocket: "a relay, which has no key (Media over QUIC, over a WebSocket)",
};

/** What is encrypted, by the value of `--encrypt`. */
const SELECTIONS = {
  all: "everything",
  "level:4": "level 4: everything",
  "level:3": "level 3: headers and intra macroblocks",
  "level:2": "level 2: headers and the begin of intra pictures",
  "level:1": "level 1: headers",
  "rate:75": "75 % of the units, at random",
  "rate:50": "50 % of the units, at random",
  "rate:25": "25 % of the units, at random",
  keyframes: "keyframes only",
  headers: "headers only",
  none: "nothing",
};

/** What a camera signs, in short and at length. */
const SIGNS: Readonly<Record<SignMode, string>> = {
  off: "nothing", frame: "each frame", both: "each frame and each group of pictures",
};
const SIGNED: Readonly<Record<SignMode, string>> = {
  off: "nothing",
  frame: "each frame (Ed25519), checked before it is shown",
  both: "each frame (Ed25519), checked before it is shown, and each group of pictures (ML-DSA-65), checked afterwards",
};

const ALARMS: Readonly<Record<AgeAlarm, string>> = {
  freeze: "The picture may be old: no frame comes that the camera signed. The camera stands still, or frames are " +
    "held up on the way.",
  stale: "The picture may be old: frames come, but none answers this page in time. They are late or repeated, or the " +
    "answers get lost on the way.",
};

const AGE = {
  newest: (atMost: string) => `The newest frame is ${atMost} old.`,
  atMost: (milliseconds: number) => `at most ${milliseconds} ms`,
  notSaid: "How old the picture is, the camera has not said yet.",
  unknownYet: "not known yet",
  noSigned: "may be old: no signed frame comes",
  noAnswer: "may be old: no answer comes",
  notSigned: "not known: frames are not signed",
  unproven: "Pictures are shown without the proof that holds against quantum computers: the signatures of their " +
    "groups do not come. Each picture's own signature is verified.",
};

const FIGURES = {
  picture: "picture", rate: "rate", frames: "frames", bytes: "bytes", roundTrip: "round trip", dropped: "dropped",
  drawn: "drawn", freezes: "freezes", decoder: "decoder", inDecoder: "in decoder", sound: "sound", packets: "packets",
  packetsLeft: "packets left out", packetsLost: "packets lost", lips: "lips", soundWaits: "sound waits",
  silence: "silence", forged: "forged", age: "age", verified: "verified", unproven: "unproven", group: "group",
  total: "total",
  noneYet: "none yet",
  perSecond: (pictures: string, bits: string) => `${pictures} pictures/s, ${bits}`,
  keyframes: (frames: string, keyframes: string) => `${frames}, keyframes: ${keyframes}`,
  froze: (times: string, seconds: string) => `${times}, ${seconds} s in all`,
  madeAnew: (times: string) => `, made anew ${times} times`,
  sent: "sent", muted: "muted",
  groupsForged: (count: string) => `groups of pictures: ${count}`,
  groupsProven: (frames: string, groups: string) => `${frames} frames, groups of pictures: ${groups}`,
  ofFrames: (count: string) => `${count} frames`,
  groupEpoch: (suite: string, epoch: string) => `${suite}, epoch ${epoch}`,
  lastSecond: "over the last second",
  whenLast: "when there was a picture last",
  noTotal: "The total is not known before the clocks of both ends were compared.",
  medianNote: "Median from the source's stamp to the canvas; the clocks of both ends may make it that wrong.",
  lipsAfter: (size: string) => `sound ${size} after the picture`,
  lipsBefore: (size: string) => `sound ${size} before the picture`,
  soundStates: {
    off: "off", on: "on", stalled: "on, but the browser's output takes none", unable: "not decoded by this browser",
  },
  decoders: { "hardware-allowed": "the browser's choice, hardware allowed", software: "software", images: "images, " +
    "one by one" },
  stages: {
    capture: "from the source's stamp until the publisher has the picture",
    encode: "from the picture to the coded frame",
    queue: "waiting to be sealed",
    seal: "encrypting and authenticating the frame's records",
    send: "handing the records to the network",
    network: "until the frame's last byte is here; the error of the clocks is in it",
    open: "verifying and decrypting the frame's records",
    wait: "waiting for the decoder",
    decode: "from the coded frame to the picture",
    draw: "until the picture is on the canvas, the time for which it is held back included",
  },
  refused: {
    malformed: "malformed: no record at all",
    cleartext: "cleartext: in clear, although it must be encrypted",
    "outside-cell": "outside-cell: came by itself although the peer sends cells",
    "unknown-epoch": "unknown-epoch: of keys that this end does not have",
    replay: "replay: was received before, or is too old to know",
    tag: "tag: not authentic",
  },
  refusedFrames: {
    unsigned: "unsigned: a frame without the camera's signature",
    malformed: "malformed: a frame with a proof of another form",
    stream: "stream: a frame of another stream",
    epoch: "epoch: a frame under keys that are over",
    records: "records: records of a frame were added or removed",
    digest: "digest: records of a frame are not those that the camera signed",
    order: "order: a frame was repeated or moved",
    group: "group: a frame of another group of pictures, or its keyframe was lost",
    signature: "signature: a frame that the camera did not sign",
  },
  nothingMeasured: "Nothing has been measured yet.",
  chartEmpty: "Chart of the last minute: nothing has been measured yet",
  chart: (parts: string) => `Areas stacked by stage over the last minute. Newest medians in milliseconds: ${parts}`,
  secondsBefore: "60 s before", halfMinute: "30 s", newest: "newest",
};

const PUBLISH = {
  failed: "Publishing could not begin. Reload the page.",
  camera: "Camera",
  frontCamera: "Front camera",
  toViewer: (address: string, name: string) =>
    name === "" ? `To the viewer at ${address}.` : `To the viewer at ${address}, whom the ticket names: ${name}`,
  throughRelay: (host: string, name: string) =>
    `Through the relay at ${host}, as ${name}. This page then shows a ticket for viewers.`,
  noH264: "This browser does not encode H.264 of this size.",
  noProcessor: "This browser cannot publish: it has no MediaStreamTrackProcessor for pages. Chrome, Edge and other " +
    "browsers made of Chromium have it. Firefox and Safari can watch.",
  systemsChoice: "the system's choice",
  previews: { camera: "Your camera's picture", screen: "Your screen's picture" },
  takenAway: { camera: "The camera was taken away.", screen: "The screen is not shared any more." },
  notAllowed: {
    camera: "The camera was not allowed. Press Publish again, and allow it when asked.",
    screen: "The screen was not allowed. Press Publish again, and allow it when asked.",
  },
  notFound: {
    camera: "There is no camera here. Connect one, or choose another source.",
    screen: "There is no screen here. Choose another source.",
  },
  inUse: {
    camera: "The camera is in use by another program. Close that, and press Publish again.",
    screen: "The screen is in use by another program. Close that, and press Publish again.",
  },
  notOpened: {
    camera: "The camera could not be opened. Try another source or size.",
    screen: "The screen could not be opened. Try another source or size.",
  },
  noPicture: "It has no picture. Choose another source.",
  noSoundEncoder: "This browser cannot send sound: it has no encoder for it (WebCodecs has no AudioEncoder here).",
  microphoneNotAllowed: "The microphone was not allowed. Allow it when asked, or publish without sound.",
  microphoneNotFound: "There is no such microphone here. Connect or choose another, or publish without sound.",
  microphoneInUse: "The microphone is in use by another program. Close that, and try again.",
  microphoneNotOpened: "The microphone could not be opened. Choose another one, or publish without sound.",
  microphoneSilent: "The microphone gives no sound. Choose another one.",
  soundOn: "Send sound",
  soundOff: "Mute",
  soundGone: "The sound ended: the microphone was taken away, or the screen is not shared any more.",
  soundBroken: "The sound could not be taken. Choose another microphone.",
  noScreenSound: "The browser gave no sound of the screen, so none is sent. Where it can, its question has a switch " +
    "for sound: of a tab in most systems, of the whole screen in some.",
  watches: "watches", joining: "is connecting", away: "is enrolled, and has no session now",
  watching: (watching: number) => watching === 0 ? "Nobody watches now." :
    `${watching} ${watching === 1 ? "watches" : "watch"} now.`,
  othersMay: (others: number) => ` ${others} more may come back without a new ticket.`,
  usedUp: "The ticket's invite is used up or withdrawn: it admits nobody new. Publish again for another one.",
  stillAdmits: (left: number) => `Whoever has this ticket can watch: it still admits ${left === 1 ? "one viewer" :
    `${left} viewers`}. Send it over a channel that you trust. Ending the access of who used it withdraws it.`,
  copy: "Copy the ticket",
  copied: "Copied",
  selected: "Selected: copy it with the keyboard",
  endAccess: "End access",
  endAccessOf: (name: string) => `End access of ${name}`,
};

/** Why a camera is off, by the words of the program that publishes, which are English. */
const WHY: Readonly<Record<string, string>> = {};

export const PAGE = {
  language: "en" as Language, markup: MARKUP, notices: NOTICES, live: LIVE, enter: ENTER, lock: LOCK,
  selections: SELECTIONS,
  signs: SIGNS, signed: SIGNED, alarms: ALARMS, age: AGE, figures: FIGURES, publish: PUBLISH, why: WHY,
};

/** How a session ended, for a viewer; and for a publisher, by the cause, where that needs other words. */
const WATCHING = {
  invite: "This link's invite was used up, withdrawn or has expired, or you were removed: ask for a new link.",
  silence: "Nobody with this identity answers here: the publisher is away, or the link is another publisher's. Try " +
    "again later, or ask for a new link.",
  peer: "Whoever answers here is not the publisher of this link. Do not trust this address: ask for a new link over " +
    "a channel that you trust.",
  removed: "The publisher ended your access. To watch again, ask for a new link.",
  notAdmitted: "The publisher does not admit you: ask for a new link with an invite.",
  endOfStream: "The stream has ended.",
  tooManyViewers: "All places are taken: try again when somebody has left.",
  goingAway: "The publisher went away; it may come back.",
  tooSlow: "This connection is too slow for the stream; connecting again.",
  replaced: "Another window or program of yours has the place: close one. This page tries again after a minute.",
  notOffered: "What this page asks for is not there.",
  sourceFailed: "The publisher's camera failed.",
  otherwise: (reason: string) => `The publisher ended the session (${reason}); connecting again.`,
  handshake: "The publisher refused the handshake: its settings may not fit this page's. Ask the publisher; its log " +
    "says why.",
  lost: "The connection was lost.",
  noServer: (why: string) => `There is no connection to this page's server (${why}). Check it, and the network.`,
  browser: "Something in this page or browser failed: reload the page, or use another browser.",
  said: (text: string) => `It said: ${text}`,
  stopped: "You stopped watching.",
  insecure: "A browser decrypts only on pages that came by https or from this machine (127.0.0.1).",
  canvas: "This browser does not draw on a canvas in a worker: update it, or use another one.",
};

const PUBLISHING: Readonly<Record<string, string>> = {
  "end-of-stream": "The viewer has ended the session.",
  "not-authorised": "The viewer does not admit you: the link's invite was used up or has expired, or you were " +
    "removed. Ask for a new link.",
  removed: "The viewer ended your access. To publish again, ask for a new link.",
  "too-many-viewers": "The viewer has another publisher already: try again when that one has left.",
  "going-away": "The viewer went away; it may come back.",
  "too-slow": "This connection is too slow for the video; connecting again.",
  psk: "This link's invite was used up, withdrawn or has expired, or you were removed: ask the viewer for a new link.",
  silence: "Nobody with this identity answers here: the viewer is away, or the link is another viewer's. Try again " +
    "later, or ask for a new link.",
  peer: "Whoever answers here is not the viewer of this link, and got no picture. Do not trust this address: ask for " +
    "a new link over a channel that you trust.",
  handshake: "The other end refused the handshake. It may publish itself, and this link be for watching it; its " +
    "settings may not fit yours, so try other suites and mechanisms. Its log says why.",
  role: "The other end publishes as well: this link is for watching it.",
  stopped: "You stopped publishing.",
  insecure: "A browser encrypts only on pages that came by https or from this machine (127.0.0.1).",
};

/** Errors of the protocol and of carriers, by their reason; without a text here they have their own, in English. */
const REASONS: Readonly<Record<string, string>> = {};

/** What the page's worker says. */
export const WORKER = { watching: WATCHING, publishing: PUBLISHING, reasons: REASONS };
