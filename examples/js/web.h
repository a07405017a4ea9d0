/* web.h - what module.c and steering.c, the two modules in WebAssembly, have in
   common: how a function is exported, and where a mix has its sources. */
#ifndef WEB_H
#define WEB_H

/* Declares and exports a function. In C it has another name, as it may be named
   as one that it calls. */
#define WEB(type, name, parameters) \
    __attribute__((export_name(#name))) type web_##name parameters; \
    type web_##name parameters

/* Where the sources of a mix stand: behind it. */
static statesampler_source *web_sources(statesampler_mix *mix)
{
    return (statesampler_source *)(void *)((unsigned char *)mix +
                                           ((sizeof *mix + 15) & ~(size_t)15));
}

#endif
